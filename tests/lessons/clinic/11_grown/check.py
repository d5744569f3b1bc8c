"""Clinic, case 11: stream b waits for the growth before it uses the rest of the piece."""

from check import met_by_starter, miss


def test_ends_well(case):
    case.ends_well()


@met_by_starter
def test_grows_once(case):
    calls = case.run().journal.allocations
    if len(calls) != 2:
        miss(f"""two calls of cudaMallocAsync: one before the allocator is used, and one piece for
            both streams.
            Happened: {len(calls)} calls.""")


@met_by_starter
def test_not_undone(case):
    case.expect_not_undone(2, "launch_fill")


def test_called(case):
    case.after(test_ends_well)
    case.expect_called()


def test_output(case):
    case.after(test_ends_well)
    case.prints_line("stream b wrote 2, .* holds 2", "stream b wrote 2, and its range holds 2")
