#!/usr/bin/env bats
# The rules of lesson 16: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "the pool is created for a file descriptor" { rule created; }
@test "the descriptor arrives as a descriptor, in one message with the parcel" { rule sent; }
@test "the importer imports the pool by the descriptor that came" { rule imported; }
@test "GPU 1 has access in the importer" { rule access; }
@test "the importer's copy is in memory of its own" { rule own; }
@test "the importer tries what an imported pool cannot do" { rule refused; }
@test "the importer leaves nothing behind: no import, no descriptor, no second byte" { rule left; }
@test "the exporter waits for the importer's message, then frees and trims" { rule owner; }
@test "it prints what a real device prints, also for a size that takes one segment" { rule output; }
@test "if no pool can be shared (SIM_HANDLE_TYPES=0), it prints why and ends with status 77" {
    rule skipped
}
