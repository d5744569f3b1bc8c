#!/usr/bin/env bats
# The rules of clinic case 08: their functions are in check.py, and grading/rules.bash runs them.

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "one graph is destroyed, and the other is launched after that" { rule one_is_destroyed; }
@test "the functions are right for other streams, twice, and in another order" { rule called; }
@test "it prints what the repaired program printed on a device" { rule output; }
