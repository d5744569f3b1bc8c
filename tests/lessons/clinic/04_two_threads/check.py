"""Clinic, case 4: the second thread waits for the first, and gets what the first returned."""

from check import met_by_starter, miss


@met_by_starter
def test_one_memory(check):
    journal = check.run().journal
    taken = journal.allocations
    fills = journal.ok("launch_fill")
    streams = sorted({str(x["stream"]) for x in fills})
    if len(taken) != 1 or len({x["allocation"] for x in fills}) != 1 or streams != ["per-thread"]:
        miss(f"""one cudaMallocAsync, and both workers fill that memory in cudaStreamPerThread: the
            allocator keeps what returns and hands it out again.
            Happened: {len(taken)} allocations; fills in the streams {", ".join(streams)}.""")


@met_by_starter
def test_not_undone(check):
    check.expect_not_undone(2, "launch_fill")
