#!/usr/bin/env bats
# The rules of case 03 of the clinic. Each test is one of them, and its function in check.py says
# what it demands. By default they judge the book's repair:
#
#     bats tests/lessons/clinic/03_barrier
#     LESSON=my.c bats tests/lessons/clinic/03_barrier

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "the collecting stream waits at the barrier, and the host does not" { rule host_goes_on; }
@test "it prints what the repaired program printed on a device" { rule output; }
