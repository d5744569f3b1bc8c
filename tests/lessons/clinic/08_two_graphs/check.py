"""Clinic, case 8: a workspace lives as long as the graphs that keep its address."""

from check import met_by_starter, miss


@met_by_starter
def test_one_is_destroyed(case):
    journal = case.run().journal
    gone = journal.ok("cudaGraphExecDestroy").first
    if not gone or not journal.ok("cudaGraphLaunch").after(gone):
        miss("""the evaluation graph is destroyed first, and the training graph is launched once
            more: that is what the program is for.
            Happened: the last launch came before the first cudaGraphExecDestroy.""")


def test_called(case):
    case.after()
    case.frees_all = True
    case.expect_called()
