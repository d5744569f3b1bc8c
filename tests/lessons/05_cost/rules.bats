#!/usr/bin/env bats
# The rules of lesson 05: their functions are in check.py, and grading/rules.bash runs them.

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
