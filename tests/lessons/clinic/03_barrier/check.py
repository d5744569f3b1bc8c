"""Clinic, case 3: one stream waits for all workers, and the host for none."""

from check import met_by_starter


@met_by_starter
def test_not_undone(check):
    check.expect_not_undone(4, "launch_add", "launch_add", "cudaMemcpyAsync")
