#!/usr/bin/env bats
# The rules of lesson 11: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "the six cases are as they were" { rule cases; }
@test "each phase of the batch has a stream of its own, and runs in the memory of the first" {
    rule batch
}
@test "every access is ordered, and everything is freed" { rule ordered; }
@test "the batch reuses by a rule that is certain, however fast the device is" { rule certain; }
@test "the server waits for nothing" { rule server_waits; }
@test "the server takes memory that the device has finished with" { rule server_takes; }
@test "the server leaves the choice to the policy of its pool, and synchronizes nothing" {
    rule server_policy
}
@test "it prints what a real device prints, and the same with another size and schedule" {
    rule prints
}
