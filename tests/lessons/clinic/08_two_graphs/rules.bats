#!/usr/bin/env bats
# The rules of case 08 of the clinic. Each test is one of them, and its function in check.py says
# what it demands. By default they judge the book's repair:
#
#     bats tests/lessons/clinic/08_two_graphs
#     LESSON=my.c bats tests/lessons/clinic/08_two_graphs

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "one graph is destroyed, and the other is launched after that" { rule one_is_destroyed; }
@test "the functions are right for other streams, twice, and in another order" { rule called; }
@test "it prints what the repaired program printed on a device" { rule output; }
