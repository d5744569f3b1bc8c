#!/usr/bin/env bats
# What a device says about itself, and how much work it accepts.

load ../../../tests/suite
load programs

setup_file() { make -s BACKEND=simulator build/simulator/simulator/tests/unit/device; }

@test "each field of the properties that has an attribute has its value" {
    as_expected device properties
}
@test "limits of a device are what was recorded, and what was set" { as_expected device limits; }
@test "cudaInitDevice makes no device current" { as_expected device init; }
@test "cudaStreamAttachMemAsync: what it takes and what it refuses" { as_expected device attach; }

@test "1021 operations of a stream may be pending behind a hold; allocations and records are none" {
    as_expected device full
    as_expected device full_otherwise
}
@test "each node of a launch is one, behind others and beside them" {
    as_expected device full_of_launches
    local name
    for name in too_many_launches too_many_wide_launches; do
        run bounded "$PROGRAMS/device" "$name"
        assert_equal "$status" 3
        assert_line --partial "hazard: waiting forever. cudaGraphLaunch waits for room in the full"
    done
}
@test "a call that queues one more waits for room" { as_expected device waits_for_room; }
@test "a call that waits for room behind a gate that nobody opens: a sentence and status 3" {
    run bounded "$PROGRAMS/device" too_full
    [ "$status" = 3 ]
    assert_line --partial "hazard: waiting forever. launch_fill waits for room in the full queue of"
    assert_line "  To do: open the gate (*open = 1) before this call, or queue less after it."
}
