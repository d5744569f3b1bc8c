#!/usr/bin/env bats
# The rules of lesson 13: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "no thread waits for the device before its last turn, and each does then" { rule host; }
@test "each thread works in its own stream" { rule threads; }
@test "with created streams, an event is recorded after each fill" { rule recorded; }
@test "with created streams, the consumer's work comes after the producer's" { rule created; }
@test "with per-thread streams, where one handle names two streams, the order is the same" {
    rule per_thread
}
@test "each buffer is freed once, after its last use" { rule free; }
@test "each of the rounds that it is given computes on the device" { rule rounds; }
@test "it prints what a real device prints, and the same on a slow device" { rule prints; }
