#!/usr/bin/env bats
# What a device says of itself.

load ../suite
load programs

setup_file() { make -s BACKEND=simulator build/simulator/tests/simulator/device; }

@test "each field of the properties that has an attribute has its value" {
    as_expected device properties
}
