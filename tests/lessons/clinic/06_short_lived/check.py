"""Clinic, case 6: the array outlives the stream in which it was made."""

from check import MADE, line_of, met_by_starter, miss
from clinic import test_ends_well

CREATE = MADE["cudaStreamDestroy"][1]


@met_by_starter
def test_destroyed(check):
    # The check calls array_of three times. One stream for all arrays may stay until the end.
    asked, marks = check.asked()
    journal = asked.journal.between(marks[0], marks[-1]) if marks else check.run().journal
    if shared := journal.ok("launch_fill").where(stream="legacy").first:
        miss(f"""the array is filled in a stream of the function's own, so that its work delays no
            other work.
            Happened: launch_fill{line_of(shared)} is in the legacy stream, which other streams wait
            for.""")
    made, gone = journal.ok(*CREATE), journal.ok("cudaStreamDestroy")
    if len(made) > len(gone) + bool(marks):
        miss(f"""each stream that is created for an array is destroyed: a program that leaves a
            stream for each array is not repaired.
            Happened: for {3 if marks else 1} arrays, streams created: {len(made)}, destroyed:
            {len(gone)}.""")


def test_called(check):
    check.after(test_ends_well)
    check.expect_called("cudaStreamSynchronize", "cudaEventSynchronize")
