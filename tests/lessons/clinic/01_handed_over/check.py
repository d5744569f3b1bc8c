"""Clinic, case 1: the packed table is dropped when its last use is queued."""

from check import met_by_starter, miss


@met_by_starter
def test_dropped(check):
    journal = check.run().journal
    taken = journal.allocations
    frees = journal.calls("cudaFreeAsync", "cudaFree")
    dropped = taken and frees.where(allocation=taken.first["allocation"]).before(taken.last)
    if taken and taken.first["stream"] != taken.last["stream"]:
        miss(f"""both tables are packed in the packing stage's own stream.
            Happened: {taken.last["call"]} allocates the second in stream
            {taken.last["stream"]}, and the first was in stream {taken.first["stream"]}.""")
    if not dropped:
        miss("""the stage drops the first packed table when it has queued the copy, and then the
            packing stage allocates the second.
            Happened: the memory of the first table was freed after the second was allocated, or
            never.""")


@met_by_starter
def test_not_undone(check):
    check.expect_not_undone(2, "cudaMemcpyAsync")
