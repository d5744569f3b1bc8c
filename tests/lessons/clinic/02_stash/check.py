"""Clinic, case 2: the activations wait for the stash, and get the memory of the weights."""

from check import miss


def test_ends_well(check):
    "no hazard, exit status 0 and nothing left, under five schedules"
    check.ends_well()


def test_one_buffer(check):
    "the activations get the memory of the weights"
    taken = len(check.run().journal.allocations)
    if taken != 1:
        miss(f"""one cudaMallocAsync: the stash is there to save memory, so the activations take the
            memory that the weights had.
            Happened: {taken} allocations.""")


def test_output(check):
    "it prints what the repaired program printed on a device"
    check.after_the_rest()
    check.prints_what_is_right()
