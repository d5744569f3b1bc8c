#!/usr/bin/env bats
# The rules of lesson 07. Each test is one of them, and its function in check.py says what it
# demands. By default they judge the solution:
#
#     bats tests/lessons/07_statistics
#     LESSON=lessons/07_statistics.c bats tests/lessons/07_statistics

load ../../grading/rules

@test "the figures are shown, and two of them cannot be set" { rule figures; }
@test "phase_need does not count what the pool used before" { rule before; }
@test "phase_need does not count what is live already" { rule live; }
@test "reserve gives the pool memory that is not in use, as much as it is asked" { rule reserve; }
@test "reserve gives one piece, also to a pool whose free memory is in pieces" { rule piece; }
@test "it prints what a real device prints" { rule output; }
