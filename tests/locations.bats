#!/usr/bin/env bats
# Pools in the host's memory, managed pools and memory, pools by location, on the simulated device.

load helpers

setup_file() {
    make -s BACKEND=simulator build/simulator/tests/simulator/location_rules
}

setup() {
    unset "${!SIM_@}"
    export LD_LIBRARY_PATH=$ROOT/build/simulator
    at=$ROOT/build/simulator/tests/simulator
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "every rule and every error code, under every pace" {
    local pace
    for pace in measured instant late random:3; do
        SIM_PACE=$pace run timeout 20 "$at/location_rules"
        [ "$status" = 0 ] && [ "$output" = "all as expected" ] || miss "location_rules under SIM_PACE=$pace, status $status:" "$output" || return
    done
}

@test "the host may touch a host pool's block, but not after it has gone back" {
    run timeout 20 "$at/location_rules" touch_freed
    [ "$status" = 139 ]
    assert_output --partial "simulated device: the host touched"
    assert_output --partial "where nothing is allocated"
}

@test "the host may not touch a device's block" {
    run timeout 20 "$at/location_rules" touch_device
    [ "$status" = 139 ]
    assert_output --partial "which is memory of device 0"
}

@test "a kernel faults on a host pool that its device has no access to" {
    run timeout 20 "$at/location_rules" no_access
    [ "$status" = 4 ]
    assert_output --partial "is in a pool of the host that this device has no access to"
}
