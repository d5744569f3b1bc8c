#!/usr/bin/env bats
# The rules of lesson 08. Each test is one of them, and its function in check.py says what it
# demands. By default they judge the solution:
#
#     bats tests/lessons/08_stream_order
#     LESSON=lessons/08_stream_order.c bats tests/lessons/08_stream_order

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
