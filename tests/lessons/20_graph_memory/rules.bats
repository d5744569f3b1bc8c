#!/usr/bin/env bats
# The rules of lesson 20: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "two graphs, one captured and one built by hand, each launched twice" { rule launches; }
@test "each launch frees what it allocates, after its last use" { rule frees; }
@test "at the end a synchronization, and then a trim of the pool that returns all of it" {
    rule pool
}
@test "then the memory of graphs is returned, after the report of what the pool's trim leaves" {
    rule trim
}
@test "the host waits once, and no call is made twice" { rule once; }
@test "it prints what a real device prints" { rule prints; }
@test "each line prints what is reserved, for any size" { rule sizes; }
