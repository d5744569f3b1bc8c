#!/usr/bin/env bats
# The rules of clinic case 05: their functions are in check.py, and grading/rules.bash runs them.

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "many columns: each staging buffer is written again only after its copy" { rule many; }
@test "the host waits for no more than the copy" { rule one_stream; }
@test "the functions are right for other streams, twice, and in another order" { rule called; }
@test "it prints what the repaired program printed on a device" { rule output; }
