#!/usr/bin/env bats
# The rules of lesson 08: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "the parts are there: one allocation in three streams, another in one" { rule parts; }
@test "the worker's add comes after the legacy stream's fill" { rule add; }
@test "the reader's copy comes after the worker's add" { rule copy; }
@test "the worker's free comes after the reader's copy" { rule free; }
@test "cudaFree comes after the host's wait for the worker" { rule plain_free; }
@test "events do it: the host waits no more often than at the start" { rule events; }
@test "it prints what a real device prints, under every schedule, also with another size" {
    rule output
}
