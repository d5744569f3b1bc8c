#!/usr/bin/env bats
# The rules of lesson 01. Each test is one of them, and its function in check.py says what it
# demands. By default they judge the solution:
#
#     bats tests/lessons/01_first_allocation
#     LESSON=lessons/01_first_allocation.c bats tests/lessons/01_first_allocation

load ../../grading/rules

@test "memory is allocated twice while the stream holds at the gate" { rule allocated; }
@test "the memory is filled, added to and copied in the stream that allocated it" { rule used; }
@test "the memory is freed in stream order: after its last use, before the next allocation" {
    rule freed
}
@test "use_stream uses the numbers that it is given" { rule numbers; }
@test "use_stream waits for nothing: the stream itself keeps its work in order" { rule no_wait; }
@test "the host waits for the copy, after gate_open, and only then reads the result" { rule wait; }
@test "it prints what a real device prints, also for other sizes" { rule output; }
