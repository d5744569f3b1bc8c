#!/usr/bin/env bats
# The rules of lesson 15: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "drivers before 11.2: no pools, and no error is left" { rule before_pools; }
@test "a new driver and a device without pools (SIM_POOLS=off): the attribute decides" {
    rule no_pools
}
@test "driver 11.2 has pools, and no attribute for handle types; a later one has both" {
    rule versions
}
@test "if an export succeeds, a pool can be shared, and the program tries it" { rule exports; }
@test "the attribute promises too much (SIM_HANDLE_TYPES=0): pools, and no sharing" {
    rule promise
}
@test "the pool is created and its export fails (SIM_FAIL=...): pools, and no sharing" {
    rule refused
}
@test "finding out leaves nothing behind: no pool, no descriptor, no error" { rule clean; }
@test "without pools, the memory is cudaMalloc's, and the host waits before cudaFree" {
    rule fallback
}
@test "with pools, the memory is the pool's, and the host does not wait" { rule pools; }
@test "it prints what a real device prints, and ends well without pools, too" { rule output; }
