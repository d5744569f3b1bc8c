#!/usr/bin/env bats
# A lesson's second process (processes.h): whatever happens to one process, the other says so in a
# sentence and ends with a status other than 0, and no process is left.

load ../../../tests/suite

setup_file() { make -s BACKEND=simulator build/simulator/simulator/tests/unit/second_process; }

setup() {
    unset "${!SIM_@}"
    export LD_LIBRARY_PATH=$ROOT/build/simulator
}

none_left() {
    left=$(grep -lszF "$1" /proc/[0-9]*/environ | cut -d / -f 3)
    [ -z "$left" ]
}

# ends CASE STATUS: $output has what both printed, and no process of the case is left
ends() {
    local mark=SECOND_PROCESS=$$.$RANDOM left
    run bounded env "$mark" "$ROOT/build/simulator/simulator/tests/unit/second_process" "$1"
    [ "$status" = "$2" ] || miss "second_process $1: exit status $status, expected $2." "$output" ||
        return
    # A killed process may take a moment to end.
    within_reason none_left "$mark" || miss "second_process $1 leaves processes behind: $left"
}

@test "one ends in the middle: the other says so" {
    ends second_ends 1
    assert_line "first process: the second one has ended before it sent what was expected."
    ends first_ends 2
    assert_line "second process: the first one has ended before it sent what was expected."
    ends told_too_late 1
    assert_line "first process: the second one has ended before it sent what was expected."
}

@test "one is killed: the other says so" {
    ends second_killed 1
    assert_line "first process: the second one died of signal 9 (Killed)"
    ends first_killed 137
    assert_line "second process: the first one has died."
}

@test "one is killed while the other's stream waits for its event" {
    ends exporter_killed 137
    assert_output --regexp 'second process: the first one has died\.|cudaErrorExternalDevice'
    refute_line "the wait ended"
    ends importer_killed 1
    assert_output --partial "cudaErrorExternalDevice"
    assert_line "first process: the second one died of signal 9 (Killed)"
    refute_line "the wait ended"
}

@test "each waits for the other: that ends, too" {
    ends both_hear 1
    assert_line --partial "has sent nothing for too long."
}

@test "a descriptor crosses beside bytes, not with bytes alone; two messages are reported" {
    ends descriptor_crosses 0
    assert_output hello
    ends no_descriptor 6
    ends two_messages 1
    assert_line "second process: the first one has sent another message than the one expected."
}

@test "a lesson that this machine cannot run: one line, status 77" {
    ends not_here 77
    assert_output "skipped: this needs a time machine: cudaErrorNotSupported"
}

@test "a process that is about to end is none that cannot be looked at; its lock is given on" {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/inside_ending
    run bounded "$ROOT/build/simulator/simulator/tests/unit/inside_ending"
    assert_success
    assert_output ""
}
