#!/usr/bin/env bats
# The rules of lesson 07: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "the figures are shown, and two of them cannot be set" { rule figures; }
@test "phase_need does not count what the pool used before" { rule before; }
@test "phase_need does not count what is live already" { rule live; }
@test "reserve gives the pool as much unused memory as is requested" { rule reserve; }
@test "reserve gives one piece, also to a pool whose free memory is in pieces" { rule piece; }
@test "it prints what a real device prints" { rule output; }
