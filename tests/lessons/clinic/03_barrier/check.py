"""Clinic, case 3: one stream waits for all workers, and the host for none."""

from check import met_by_starter


def test_ends_well(check):
    check.ends_well()


@met_by_starter
def test_not_undone(check):
    check.expect_not_undone(4, "launch_add", "launch_add", "cudaMemcpyAsync")


def test_called(check):
    check.after()
    check.expect_called()


def test_output(check):
    check.after()
    check.prints_what_is_right()
