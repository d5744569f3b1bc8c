"""Clinic, case 8: a workspace lives as long as the graphs that keep its address."""

from check import miss


def test_ends_well(case):
    "no hazard, exit status 0 and nothing left, under five schedules"
    case.ends_well()


def test_one_is_destroyed(case):
    "one graph is destroyed, and the other is launched after that"
    journal = case.run().journal
    gone = journal.ok("cudaGraphExecDestroy").first
    if not gone or not journal.ok("cudaGraphLaunch").after(gone):
        miss("""the evaluation graph is destroyed first, and the training graph is launched once
            more: that is what the program is for.
            Happened: the last launch came before the first cudaGraphExecDestroy.""")


def test_output(case):
    "it prints what the repaired program printed on a device"
    case.after(test_ends_well)
    case.prints_what_is_right()
