#!/usr/bin/env bats
# Stream capture, graphs and graph memory nodes on the simulated device: measured lines, documented
# rules and codes, hazards.

load ../tools/helpers

setup_file() {
    local programs=(graph_facts capture_rules capture_forbidden graph_rules graph_memory_rules
        graph_hazards)
    make -s BACKEND=simulator "${programs[@]/#/build/simulator/tests/simulator/}"
}

setup() {
    unset "${!SIM_@}"
    export LD_LIBRARY_PATH=$ROOT/build/simulator
    at=$ROOT/build/simulator/tests/simulator
    cd "$BATS_TEST_TMPDIR" || return 1
}

schedules=(measured instant late random:3)

# under_every_schedule PROGRAM [ARGUMENT...]: it ends with 0, prints "all as expected", and says
# nothing else
under_every_schedule() {
    local schedule program=$1
    shift
    for schedule in "${schedules[@]}"; do
        SIM_SCHEDULE=$schedule run timeout 20 "$at/$program" "$@"
        [ "$status" = 0 ] && [ "$output" = "all as expected" ] ||
            miss "$program $* under SIM_SCHEDULE=$schedule, status $status:" "$output" || return
    done
}

# reported CASE WORDS...: of the correct case nothing is reported; of the incorrect one this is,
# first, under every schedule
reported() {
    local case=$1 schedule
    shift
    for schedule in "${schedules[@]}"; do
        SIM_SCHEDULE=$schedule run timeout 20 "$at/graph_hazards" "$case" correct
        [ "$status" = 0 ] && [ -z "$output" ] ||
            miss "$case, correct, under SIM_SCHEDULE=$schedule, status $status:" "$output" || return
        SIM_SCHEDULE=$schedule run timeout 20 "$at/graph_hazards" "$case" incorrect
        [ "$status" = 3 ] && [[ "${lines[0]}" == "hazard: $1."* ]] ||
            miss "$case, incorrect, under SIM_SCHEDULE=$schedule, status $status." \
                "Expected \"hazard: $1\":" "$output" || return
    done
    for words in "${@:2}"; do assert_output --partial "$words"; done
}

@test "the measured lines: addresses, nodes, what is reserved around a launch and a trim" {
    local schedule unlike='/default pool/s/ high [0-9]*//g'
    unlike+='; /default pool/s/reserved [0-9]* used/reserved 0 used/'
    for schedule in "${schedules[@]}"; do
        SIM_SCHEDULE=$schedule run timeout 20 "$at/graph_facts"
        # spaces aside: a call is printed as its program writes it
        diff -w <(sed -n '/^## graph memory nodes/,/after trim/p' \
            "$ROOT/tests/hardware/facts/one-gpu.txt" |
            sed "$unlike") <(echo "$output") ||
            miss "graph_facts, $schedule, prints something else than the device did." \
                "(< device, > here)" || return
    done
}

@test "capture: every rule and every error code" {
    under_every_schedule capture_rules
    under_every_schedule capture_forbidden
}

@test "graphs and their memory: every rule, what is refused, how much is kept" {
    export SIM_CHECK=off   # it frees twice and uses what is freed, to see the codes
    under_every_schedule graph_rules
    under_every_schedule graph_memory_rules
}

@test "the journal: nodes at their capture, blocks at each launch, no work in the launch's line" {
    SIM_JOURNAL=journal run timeout 20 "$at/graph_facts"
    run jq -s -c '[.[] | select(.call == "cudaMallocAsync") | [.graph, .node, .allocation]]' journal
    assert_output '[[1,1,null],[1,4,null]]'
    run jq -s -c '[.[] | select(.did == "allocate" or .did == "free")
        | [.did, .launch, .allocation, .offset]]' journal
    assert_output '[["allocate",1,1,0],["free",1,1,0],["allocate",1,2,0],["free",1,2,0]]'
    run jq -s -c '.[] | select(.call == "cudaGraphLaunch") | [.graph, .launch, .stream, .reserved,
        (has("allocation"))]' journal
    assert_output '[1,1,1,67108864,false]'
    run jq -s -c '.[] | select(.did == "grow" or .did == "release")
        | [.did, .graph_memory_of_device, .segments, .reserved, .why]' journal
    assert_line --index 0 '["grow",0,2,67108864,null]'
    assert_line --index 1 '["release",0,2,0,"trim"]'
}

@test "no memory for a launch is an error of the launch, and leaves nothing behind" {
    export SIM_MEMORY=64M
    under_every_schedule graph_memory_rules no_memory
    export SIM_MEMORY=96M
    under_every_schedule graph_memory_rules no_memory_for_another
}

@test "hazard: branches that nothing orders" {
    reported branches "unordered writes" "no path of edges leads" "simulator/graph_hazards.c:36" \
        "simulator/graph_hazards.c:37"
    reported reads "read not ordered after a write" "graph launch 1 in stream 1"
    reported by_hand "read not ordered after a write" "cudaGraphAddDependencies"
}

@test "hazard: a graph's allocation used before, after and outside its life" {
    reported before_allocation "use before allocation"
    reported after_free "use after free"
    reported after_the_launch "use after free" \
        "cudaFreeAsync (graph launch 1 in stream 1) has freed"
    reported stale "use before allocation" "its pointer is stale"
    reported outside "access outside the allocation"
    reported free_early "free before the use ends"
    reported free_first "free before allocation" \
        "cudaGraphAddMemFreeNode (graph launch 1 in stream 1) frees"
}

@test "hazard: a launch and what other streams do" {
    reported beside_the_launch "unordered writes" "the cudaGraphLaunch that runs launch_fill"
    reported beside_a_branch "unordered writes"
    reported before_the_launch "unordered writes"
    reported outlives "free before the use ends"
    reported freed_before_launch "use after free"
    reported taken_over "use after free" "That address belongs to allocation" \
        "after the cudaGraphLaunch that runs launch_fill"
    reported launched_twice "unordered writes"
    reported leak "leak"
}

@test "a handle of a destroyed graph is named" {
    cat >gone.c <<'END'
#include <cuda_runtime_api.h>
int main(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphCreate(&g, 0);
    cudaGraphDestroy(g);
    return cudaGraphInstantiate(&x, g, 0);
}
END
    "${CC:-gcc}" -isystem "$ROOT/build/cuda/include" gone.c -o gone \
        "$LD_LIBRARY_PATH/libcudart.so.13"
    run ./gone
    [ "$status" = 3 ]
    assert_output --partial "hazard: cudaGraphInstantiate was given a graph that is destroyed"
}
