#!/usr/bin/env bats
# The rules of clinic case 10: their functions are in check.py, and grading/rules.bash runs them.

load ../../../grading/rules

@test "the third stream gets its 128 MiB, under five schedules" { rule gets_all; }
@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "the pool still holds no more than 128 MiB" { rule tight; }
@test "the work stays in its streams" { rule not_undone; }
@test "the host waits only where the allocation was refused" { rule waits; }
@test "the error that was handled does not remain the last error" { rule last_error; }
