"""Clinic, case 2: the activations wait for the stash, and get the memory of the weights."""

from check import met_by_starter, miss


@met_by_starter
def test_one_buffer(check):
    taken, fills = check.run().journal.allocations, check.run().journal.ok("launch_fill")
    if len(taken) != 1:
        miss(f"""one cudaMallocAsync: the stash is there to save memory, so the activations take the
            memory that the weights had.
            Happened: {len(taken)} allocations.""")
    if len(fills.of(taken)) < 2:
        miss(f"""both the weights and the activations are filled, in that one buffer.
            Happened: launch_fill was called {len(fills)} times.""")


@met_by_starter
def test_not_undone(check):
    check.expect_not_undone(2, "launch_fill")
