"""Clinic, case 6: the array outlives the stream in which it was made."""

from check import met_by_starter, miss


def test_ends_well(check):
    check.ends_well()


@met_by_starter
def test_destroyed(check):
    journal = check.run().journal
    made = [
        x
        for x in journal
        if str(x.get("call")).startswith("cudaStreamCreate") and x.get("result") == "cudaSuccess"
    ]
    gone = journal.ok("cudaStreamDestroy")
    if not made or len(made) != len(gone):
        miss(f"""each stream that is created is destroyed: a program that leaves a stream for each
            array is not repaired.
            Happened: streams created: {len(made)}, destroyed: {len(gone)}.""")


def test_called(check):
    check.after(test_ends_well)
    check.expect_called("cudaStreamSynchronize", "cudaEventSynchronize")


def test_output(check):
    check.after()
    check.prints_what_is_right()
