#!/usr/bin/env bats
# The rules of clinic case 09: their functions are in check.py, and grading/rules.bash runs them.

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "device 1 writes into the memory of both devices" { rule both_devices; }
@test "it prints what the repaired program printed on a device" { rule output; }
