#!/usr/bin/env bats
# Changes to graphs, and what a graph says of itself.

load ../suite
load programs

setup_file() { make -s BACKEND=simulator build/simulator/tests/simulator/graph_changes; }

@test "lists of roots, of what a node depends on, of what depends on it" {
    as_expected graph_changes lists
}
@test "edges and nodes that are taken away" { as_expected graph_changes taken_away; }
