#!/usr/bin/env bats
# The rules of case 09 of the clinic. Each test is one of them, and its function in check.py says
# what it demands. By default they judge the book's repair:
#
#     bats tests/lessons/clinic/09_two_devices
#     LESSON=my.c bats tests/lessons/clinic/09_two_devices

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "device 1 writes into the memory of both devices" { rule both_devices; }
@test "it prints what the repaired program printed on a device" { rule output; }
