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

@test "a reset ends memory and streams: their use is reported, and what destructors do is not" {
    as_expected device destroyed_after_reset
    run bounded "$PROGRAMS/device" memory_after_reset
    assert_equal "$status" 3
    assert_output --partial \
        "use after free. cudaMemset (the legacy stream) writes allocation 1, which"
    assert_output --partial "freed      cudaDeviceReset, the host"
    run bounded "$PROGRAMS/device" stream_after_reset
    assert_equal "$status" 3
    assert_output --partial "launch_fill was given a stream that cudaDeviceReset has ended."
}

# On other processors than x86-64, each result counts as looked at.
@test "a refused call that nobody looks at is reported, also in a program without kernels" {
    [ "$(uname -m)" = x86_64 ] || skip "its results count as looked at here"
    run bounded "$PROGRAMS/device" refused_and_unseen
    assert_equal "$status" 3
    assert_output --partial "failed call. cudaGraphLaunch returned cudaErrorInvalidValue"
    assert_output --partial "its memory of the launch before is not freed"
}

@test "a result that a program looks at never counts as ignored, however it is compiled" {
    [ "$(uname -m)" = x86_64 ] || skip "each result counts as looked at here"
    local level
    for level in 0 1 2 3; do
        "${CC:-gcc}" -Wall -Wextra -O"$level" -I"$ROOT/simulator" -o result \
            "$ROOT"/simulator/{tests/unit/inside_result,os/result}.c
        ./result >out 2>err || complain "-O$level: $(<err)"
        [[ ${CC:-gcc} != gcc || $(<err) == "missed 0, "* ]] || complain "-O$level: $(<err)"
    done
    finish
}
