#!/usr/bin/env bats
# The rules of case 04 of the clinic. Each test is one of them, and its function in check.py says
# what it demands. By default they judge the book's repair:
#
#     bats tests/lessons/clinic/04_two_threads
#     LESSON=my.c bats tests/lessons/clinic/04_two_threads

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "the second worker gets the memory that the first returned" { rule one_memory; }
@test "the work stays in its streams, and no host waits for it" { rule not_undone; }
@test "the functions are right for other streams, twice, and in another order" { rule called; }
@test "it prints what the repaired program printed on a device" { rule output; }
