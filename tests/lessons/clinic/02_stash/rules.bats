#!/usr/bin/env bats
# The rules of clinic case 02: their functions are in check.py, and grading/rules.bash runs them.

load ../../../grading/rules

@test "no hazard, exit status 0 and nothing left, under five schedules" { rule ends_well; }
@test "the activations get the memory of the weights" { rule one_buffer; }
@test "the work stays in its streams, and no host waits for it" { rule not_undone; }
@test "it prints what the repaired program printed on a device" { rule output; }
