#!/usr/bin/env bats
# The rules of lesson 17: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "two processes share an allocation and two events" { rule shared; }
@test "an event is recorded before it is sent" { rule recorded; }
@test "an event is destroyed after its last use in both processes" { rule destroyed; }
@test "streams wait for events, and no host waits in between" { rule hosts; }
@test "the importer's stream waits for the fill" { rule fill; }
@test "the importer frees, and records its event after the free" { rule free; }
@test "the exporter's stream waits for the importer's event, then uses and frees the data" {
    rule finished
}
@test "the exporter needs no other message, and prints what the importer made of the data" {
    rule message
}
@test "it prints what a real device prints, also under other schedules and with another size" {
    rule output
}
@test "if no pool can be shared (SIM_HANDLE_TYPES=0), it prints why and ends with status 77" {
    rule skipped
}
