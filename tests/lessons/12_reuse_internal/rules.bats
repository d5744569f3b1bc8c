#!/usr/bin/env bats
# The rules of lesson 12: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "the first three lines show the inserted wait, the error without it, and growth" {
    rule pools
}
@test "the shared pool keeps its limit" { rule limit; }
@test "the shared pool inserts no wait" { rule no_wait; }
@test "while the shared pool has room, take allocates from it" { rule room; }
@test "with the slow stream held, take returns memory of the spare pool at once" { rule spare; }
@test "with both pools full, the host waits for the slow stream and then allocates" {
    rule last_resort
}
@test "for more than both pools can hold, take returns the error" { rule no_memory; }
@test "an error that take has handled does not remain the last error" { rule last_error; }
@test "it prints what a real device prints, and the same with another size" { rule prints; }
