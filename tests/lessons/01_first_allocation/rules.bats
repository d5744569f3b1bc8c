#!/usr/bin/env bats
# The rules of lesson 01: their functions are in check.py, and grading/rules.bash runs them.

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
