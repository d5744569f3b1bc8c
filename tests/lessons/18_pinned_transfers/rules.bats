#!/usr/bin/env bats
# The rules of lesson 18: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "each of the four pieces is copied up from host, added to, and copied down to where it was" {
    rule pieces
}
@test "the pieces take turns in two streams" { rule turns; }
@test "the host waits for nothing while it puts the pieces into the streams" { rule queued; }
@test "each piece runs alongside the one before it" { rule beside; }
@test "the host waits at the end, for the work of both streams" { rule end; }
@test "pinning pays when it has saved what it took" { rule pays; }
@test "when pinned copies are no faster, pinning never pays" { rule never; }
@test "it prints what a real device prints, and is right with another size" { rule prints; }
