#!/usr/bin/env bats
# The invariants of graphs' memory after each step of random walks, and captures, graphs, and other
# locations under the sanitizers.

load ../../../tests/suite

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/{inside_graphs,graph_refused}
}

setup() { unset "${!SIM_@}"; }

@test "every law of graphs' memory holds after each step of random walks" {
    local schedule seed=0
    for schedule in measured instant late random:3; do
        seed=$((seed + 1))
        SIM_SCHEDULE=$schedule LD_LIBRARY_PATH=$ROOT/build/simulator run bounded \
            "$ROOT/build/simulator/simulator/tests/unit/inside_graphs" 1000 "$seed"
        [ "$status" = 0 ] || miss "inside_graphs, seed $seed, under SIM_SCHEDULE=$schedule:" \
            "$output" || return
        assert_output --regexp '^1000 steps, [1-9][0-9]{2} launches, [1-9][0-9]* refused$'
    done
}

@test "a launch that finds no memory leaves nothing behind" {
    SIM_MEMORY=128M LD_LIBRARY_PATH=$ROOT/build/simulator run bounded \
        "$ROOT/build/simulator/simulator/tests/unit/graph_refused"
    assert_success
    assert_output "small: cudaSuccess
large: cudaErrorMemoryAllocation
reserved while the small one is held: 32 MiB
reserved at the end: 0 MiB"
}

# bats test_tags=long
@test "the sanitizers find nothing in captures, graphs and other locations" {
    local programs=(capture_rules capture_forbidden graph_rules graph_memory_rules location_rules
        inside_graphs)
    make_sanitized address,undefined "${programs[@]/#/simulator/tests/unit/}"
    make_sanitized thread "${programs[@]/#/simulator/tests/unit/}"
    local build program
    export SIM_CHECK=off SIM_MEMORY=4G   # the thread sanitizer leaves few addresses
    for build in simulator-address-undefined simulator-thread; do
        for program in capture_rules capture_forbidden graph_rules graph_memory_rules \
            location_rules "inside_graphs 300 5"; do
            # shellcheck disable=SC2086  # a program and its arguments
            LD_LIBRARY_PATH=$ROOT/build/$build run bounded \
                "$ROOT/build/$build/simulator/tests/unit/"$program
            [ "$status" = 0 ] || miss "$build, $program: status $status" "$output" || return
        done
    done
}
