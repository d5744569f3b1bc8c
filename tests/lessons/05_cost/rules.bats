#!/usr/bin/env bats
# The rules of lesson 05. Each test is one of them, and its function in check.py says what it
# demands. By default they judge the solution:
#
#     bats tests/lessons/05_cost
#     LESSON=lessons/05_cost.c bats tests/lessons/05_cost

load ../../grading/rules

@test "after keep_memory, no synchronization takes memory from the pool" { rule keeps; }
@test "the loops do what their names say" { rule loops; }
@test "serve waits for no other stream" { rule no_other_stream; }
@test "serve takes its memory from the pool" { rule from_the_pool; }
@test "serve synchronizes once, for all requests" { rule once; }
@test "each answer comes from the device" { rule device; }
@test "serve answers every request before it returns, whatever their number and size" {
    rule answers
}
@test "it prints what a real device prints" { rule output; }
