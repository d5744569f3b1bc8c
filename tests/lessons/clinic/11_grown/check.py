"""Clinic, case 11: stream b waits for the growth before it uses the rest of the piece."""

from check import line_of, met_by_starter, miss
from clinic import test_ends_well


@met_by_starter
def test_grows_once(case):
    journal = case.run().journal
    calls = journal.allocations
    other = journal.ok("cudaMalloc").first
    if len(calls) == 1 and other:
        miss(f"""the piece comes from the pool, by cudaMallocAsync.
            Happened: it comes from cudaMalloc{line_of(other)}. Any stream may use such memory at
            once, but the allocator takes it out of reach of the pool's other users.""")
    if len(calls) != 2:
        lines = ", ".join(f"{x['call']}{line_of(x)}" for x in calls[1:]) or "none"
        miss(f"""main allocates once, and then the allocator grows once, by one piece that both
            streams use.
            Happened: after the first allocation the allocator called: {lines}.""")


@met_by_starter
def test_not_undone(case):
    case.expect_not_undone(2, "launch_fill")


def test_output(case):
    case.after(test_ends_well)
    case.prints_line("stream b wrote 2, .* holds 2", "stream b wrote 2, and its range holds 2")
