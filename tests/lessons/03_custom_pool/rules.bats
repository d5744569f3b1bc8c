#!/usr/bin/env bats
# The rules of lesson 03: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "every allocation comes from the program's own pools, and each is made the current one" {
    rule own
}
@test "maxSize limits the second pool, to any size" { rule limit; }
@test "every allocation is freed after its last use, even after its pool was destroyed" {
    rule freed
}
@test "the second pool is destroyed with live allocations, which are used afterwards" { rule live; }
@test "it prints what a real device prints" { rule output; }
