#!/usr/bin/env bats
# The rules of clinic case 07: their functions are in check.py, and grading/rules.bash runs them.

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "the graph frees both of its allocations" { rule graph_frees; }
@test "the work stays in its two streams" { rule not_undone; }
@test "the functions are right for other streams, twice, and in another order" { rule called; }
@test "it prints what the repaired program printed on a device" { rule output; }
