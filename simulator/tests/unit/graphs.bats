#!/usr/bin/env bats
# Stream capture, graphs and graph memory nodes on the simulated device: measured lines, documented
# rules and codes, and changes to graphs. Hazards in graphs are in simulator/tests/litmus.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/graph_cases \
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

@test "own kernels as nodes, and what of nodes is not simulated" {
    reported graph_cases two_kernels "unordered writes" "second (graph launch 1 in stream 1)" \
        "no path of edges leads from one node of the graph to the other"
    exits 0 "$PROGRAMS/graph_cases" refused
    assert_line "all as expected"
    assert_line --partial "slices with rows between them are not simulated"
    assert_line --partial "the name of a kernel is 1 to 63 printable characters"
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
    SIM_MEMORY=98M as_expected graph_cases no_memory_for_another
}

@test "a handle of a destroyed graph is named" {
    main_of gone.c <<'END'
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphCreate(&g, 0);
    cudaGraphDestroy(g);
    return cudaGraphInstantiate(&x, g, 0);
END
    exits 3 ./program
    assert_output --partial "hazard: bad handle. cudaGraphInstantiate was given a graph that is \
destroyed"
}

# ---- changes to graphs, and a graph printed as text ----

@test "graph_cases.c: captures, lists, what is taken away, parameters, updates, and children" {
    all_as_expected graph_cases refused no_memory_for_another no_type dot dot_of_each
}

@test "cudaGraphAddNode: a sentence for a type of node that is not simulated" {
    run bounded "$PROGRAMS/graph_cases" no_type
    # The node is missing, so the program must not end with 0.
    [ "$status" = 4 ]
    assert_line --partial "cudaGraphAddNode: a node of this type (8) is not simulated: the call"
}

@test "cudaGraphDebugDotPrint: the nodes, the edges, and the parameters that are asked for" {
    as_expected graph_cases dot
    run cat plain.dot
    assert_line '    "graph_1_node_1" [label="1\nEMPTY"];'
    assert_line '    "graph_1_node_5" [label="5\nMEMSET"];'
    [ "$(grep -c ' -> ' plain.dot)" = 5 ]
    assert_line '    "graph_1_node_2" -> "graph_1_node_4";'
    run grep MEMSET verbose.dot
    assert_output --regexp '= 7, 1 x 64 bytes\\nhandle 0x'
    ! command -v dot >/dev/null || dot -Tsvg verbose.dot >/dev/null
    as_expected graph_cases dot_of_each
    diff each.txt <(grep -o 'label=.*' each.dot | sed -n 's/.*[A-Z]\\n\(.*\)\\nhandle .*/\1/p') ||
        miss "It prints other parameters:" "$(cat each.dot)"
}

# ---- sanitizers ----

# bats test_tags=long
@test "the sanitizers find nothing in captures, graphs and other locations" {
    local build run programs=(facts/probe-graphs unit/graph_cases)
    export SIM_CHECK=off SIM_MEMORY=4G   # the thread sanitizer leaves few addresses
    make_sanitized address,undefined "${programs[@]/#/simulator/tests/}" \
        simulator/tests/facts/probe-pools
    make_sanitized thread "${programs[@]/#/simulator/tests/}" simulator/tests/facts/probe-pools
    for build in simulator-address-undefined simulator-thread; do
        export LD_LIBRARY_PATH=$ROOT/build/$build
        for run in unit/graph_cases\ {freed_by_another_graph,captured} \
            facts/probe-graphs \
            facts/probe-pools\ {kinds,by_location,memory_{host,numa,managed},limits}; do
            # shellcheck disable=SC2086  # a program and its arguments
            run bounded "$LD_LIBRARY_PATH/simulator/tests/"$run
            [ "$status" = 0 ] && [[ $output != *Sanitizer* && $output != *"runtime error"* ]] ||
                miss "$build, $run: status $status" "$output" || return
        done
    done
}
