#!/usr/bin/env bats
# The rules of case 07 of the clinic. Each test is one of them, and its function in check.py says
# what it demands. By default they judge the book's repair:
#
#     bats tests/lessons/clinic/07_fork
#     LESSON=my.c bats tests/lessons/clinic/07_fork

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "the graph frees both of its allocations" { rule graph_frees; }
@test "the work stays in its two streams" { rule not_undone; }
@test "the functions are right for other streams, twice, and in another order" { rule called; }
@test "it prints what the repaired program printed on a device" { rule output; }
