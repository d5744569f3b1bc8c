#!/usr/bin/env bats
# Changes to graphs, and a graph printed as text.

load ../../../tests/suite
load programs

setup_file() { make -s BACKEND=simulator build/simulator/simulator/tests/unit/graph_changes; }

@test "lists of roots, of what a node depends on, of what depends on it" {
    as_expected graph_changes lists
}
@test "edges and nodes that are taken away" { as_expected graph_changes taken_away; }
@test "parameters of nodes, in a graph and in an executable one: each leaves the other alone" {
    as_expected graph_changes memsets
    as_expected graph_changes copies
    as_expected graph_changes host_functions_and_events
    as_expected graph_changes any_parameters
    as_expected graph_changes all_parameters
}
@test "a node that is disabled does nothing, until it is enabled" {
    as_expected graph_changes disabled
}
@test "cudaGraphExecUpdate: a graph of the same form gives its parameters, another says why not" {
    as_expected graph_changes updates
}
@test "cudaGraphAddNode: a node of each type, and a sentence for one that is not simulated" {
    as_expected graph_changes any_type
    run bounded "$PROGRAMS/graph_changes" no_type
    # The disabled node's function does not run.
    [ "$status" = 4 ]
    assert_line --partial "cudaGraphAddNode: a node of this type (13) is not simulated: the call"
}
@test "cudaGraphDebugDotPrint: the nodes, the edges, and the parameters that are asked for" {
    as_expected graph_changes dot
    run cat plain.dot
    assert_line '    "graph_1_node_1" [label="1\nEMPTY"];'
    assert_line '    "graph_1_node_5" [label="5\nMEMSET"];'
    [ "$(grep -c ' -> ' plain.dot)" = 5 ]
    assert_line '    "graph_1_node_2" -> "graph_1_node_4";'
    run grep MEMSET verbose.dot
    assert_output --regexp '= 7, 1 x 64 bytes\\nhandle 0x'
    ! command -v dot >/dev/null || dot -Tsvg verbose.dot >/dev/null
    as_expected graph_changes dot_of_each
    diff each.txt <(grep -o 'label=.*' each.dot | sed -n 's/.*[A-Z]\\n\(.*\)\\nhandle .*/\1/p') ||
        miss "It prints other parameters:" "$(cat each.dot)"
}
@test "child graphs: their work comes in their node's place, copied or moved" {
    as_expected graph_changes children
    as_expected graph_changes moved
}
