#!/usr/bin/env bats
# The rules of lesson 19: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "three default pools, a host pool of its own, and what main asks of it, as in the starter" {
    rule around
}
@test "the device is given access to the pool, before its kernel" { rule access; }
@test "the device adds 2 to each int, in the memory of the host pool" { rule kernel; }
@test "the host waits for the allocation before it writes" { rule allocated; }
@test "the host waits for the device before it reads" { rule waited; }
@test "the host writes the 40 and counts the 42, and leaves neither to the device" { rule host; }
@test "work_together works with other host pools and sizes" { rule others; }
@test "it prints what a real device prints" { rule prints; }
