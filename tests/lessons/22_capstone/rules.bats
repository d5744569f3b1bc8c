#!/usr/bin/env bats
# The rules of lesson 22: their functions are in check.py, and grading/rules.bash runs them.
# They are in the order of the page's sections; @section in check.py names the section of a rule.

load ../../grading/rules

@test "each part has its bytes in a piece of the pool, and shares none with another" {
    rule places
}
@test "each part begins at a multiple of GRAIN in its piece" { rule grain; }
@test "a stream that gets what another returned comes after its last use" { rule turns; }
@test "resnet50-train: few calls, so little time" { rule few_calls; }
@test "a program with little memory: at most 1.15 times what cudaMallocAsync reserves" {
    rule small_program
}
@test "small: nothing is left, and little is reserved" { rule small; }
@test "resnet50-train: at most 1.15 times what cudaMallocAsync reserves" { rule training; }
@test "a long program: 70,000 parts, of which few are live" { rule long; }
@test "memory goes from stream to stream, and the host does not wait" { rule hand_over; }
@test "a stream that gets what another took from a third comes after the third's use" {
    rule third
}
@test "neighbors of two streams are joined only in order" { rule neighbors; }
@test "a joined part is as new as the newest of its halves" { rule newer; }
@test "trim: a piece is returned after every use of its parts" { rule trim; }
@test "four-streams: what the cache counts is what it did, and nothing is left at the end" {
    rule counts
}
@test "four-streams: four streams need little more than one, and few waits" { rule four_streams; }
