#!/usr/bin/env bats
# The rules of lesson 21: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "every request begins at a multiple of its arena's alignment, and needed is its end" {
    rule places
}
@test "what does not fit is refused, whatever its size" { rule limit; }
@test "a refused request leaves the arena as it was" { rule kept; }
@test "a commit allocates once for all its requests, and only what no earlier frame has left" {
    rule kept_memory
}
@test "stream[0] works in a frame when stream[1] has ended its work of the last one" {
    rule second_first
}
@test "stream[1] works in a frame when stream[0] has ended its work of the last one" {
    rule first_second
}
@test "an arena that grows is freed after what both streams did in it" { rule grow; }
@test "the host writes into pinned memory when both streams have copied what it wrote before" {
    rule host
}
@test "nobody waits for more: not the host at a reset, and no frame for what came after it" {
    rule waits
}
@test "it prints what a real device prints" { rule prints; }
