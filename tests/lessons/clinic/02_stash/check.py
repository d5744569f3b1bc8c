"""Clinic, case 2: the activations wait for the stash, and get the memory of the weights."""

from check import met_by_starter, miss


@met_by_starter
def test_one_buffer(check):
    taken = len(check.run().journal.allocations)
    if taken != 1:
        miss(f"""one cudaMallocAsync: the stash is there to save memory, so the activations take the
            memory that the weights had.
            Happened: {taken} allocations.""")


@met_by_starter
def test_not_undone(check):
    check.expect_not_undone(2, "launch_fill")
