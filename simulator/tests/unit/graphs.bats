#!/usr/bin/env bats
# Stream capture, graphs and graph memory nodes on the simulated device: measured lines, documented
# rules and codes, hazards.

load ../../../tests/suite
load programs

setup_file() {
    local programs=(capture_rules capture_forbidden graph_rules graph_memory_rules
        graph_hazards graph_nodes_added)
    make -s BACKEND=simulator "${programs[@]/#/build/simulator/simulator/tests/unit/}" \
        build/simulator/simulator/tests/facts/one-gpu
}

@test "the measured lines: addresses, nodes, what is reserved around a launch and a trim" {
    local schedule unlike='/default pool/s/ high [0-9]*//g'
    unlike+='; /default pool/s/reserved [0-9]* used/reserved 0 used/'
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule run bounded "$FACTS/one-gpu" graphs
        # Ignore spaces, because each program prints a call as its source writes it.
        diff -wB <(sed -n '/^## graph memory nodes/,/after trim/p' \
            "$ROOT/simulator/tests/facts/one-gpu.txt" |
            sed "$unlike") <(sed "$unlike" <<<"$output") ||
            miss "one-gpu graphs, $schedule, prints something else than the device did." \
                "(< device, > here)" || return
    done
}

@test "capture: every rule and every error code" {
    as_expected capture_rules
    as_expected capture_forbidden
}

@test "nodes added by a call: host functions, events, copies, own kernels; clones, captures into" {
    as_expected graph_nodes_added
    reported graph_nodes_added "" "unordered writes" "second (graph launch 1 in stream 1)" \
        "no path of edges leads from one node of the graph to the other"
    run "$PROGRAMS/graph_nodes_added" refused
    assert_success
    assert_line "all as expected"
    assert_line --partial "slices with rows between them are not simulated"
    assert_line --partial "the name of a kernel is 1 to 63 printable characters"
}

@test "graphs and their memory: every rule, what is refused, how much is kept" {
    export SIM_CHECK=off   # it frees twice and uses what is freed, to see the codes
    as_expected graph_rules
    as_expected graph_memory_rules
}

@test "the journal: nodes at their capture, allocations at each launch, no work in its line" {
    SIM_JOURNAL=journal run bounded "$FACTS/one-gpu" graphs
    run jq -s -c '[.[] | select(.call == "cudaMallocAsync") | [.graph, .node, .allocation]]' journal
    assert_output '[[1,1,null],[1,4,null]]'
    run jq -s -c '[.[] | select(.did == "allocate" or .did == "free")
        | [.did, .launch, .allocation, .offset]]' journal
    assert_output '[["allocate",1,2,0],["free",1,2,0],["allocate",1,3,0],["free",1,3,0]]'
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
    as_expected graph_memory_rules no_memory
    export SIM_MEMORY=96M
    as_expected graph_memory_rules no_memory_for_another
}

@test "hazard: branches that nothing orders" {
    reported graph_hazards branches "unordered writes" "no path of edges leads" \
        "unit/graph_hazards.c:36" "unit/graph_hazards.c:37"
    reported graph_hazards reads "read not ordered after a write" "graph launch 1 in stream 1"
    reported graph_hazards by_hand "read not ordered after a write" "cudaGraphAddDependencies"
}

@test "hazard: a graph's allocation used before, after and outside its life" {
    reported graph_hazards before_allocation "use before allocation"
    reported graph_hazards after_free "use after free"
    reported graph_hazards after_the_launch "use after free" \
        "cudaFreeAsync (graph launch 1 in stream 1) has freed"
    reported graph_hazards stale "use before allocation" "its pointer is stale"
    reported graph_hazards outside "access outside the allocation"
    reported graph_hazards free_early "free before the use ends"
    reported graph_hazards free_first "free before allocation" \
        "cudaGraphAddMemFreeNode (graph launch 1 in stream 1) frees"
}

@test "hazard: a launch and what other streams do" {
    reported graph_hazards beside_the_launch "unordered writes" \
        "the cudaGraphLaunch that runs launch_fill"
    reported graph_hazards beside_a_branch "unordered writes"
    reported graph_hazards before_the_launch "unordered writes"
    reported graph_hazards outlives "free before the use ends"
    reported graph_hazards freed_before_launch "use after free"
    reported graph_hazards taken_over "use after free" "That address belongs to allocation" \
        "after the cudaGraphLaunch that runs launch_fill"
    reported graph_hazards launched_twice "unordered writes"
    reported graph_hazards leak "leak"
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
    assert_output --partial "hazard: bad handle. cudaGraphInstantiate was given a graph that is \
destroyed"
}
