#!/usr/bin/env bats
# Pools, allocations and events of several real processes, on the simulated device.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/{ipc_cases,ipc_rules} \
        build/simulator/simulator/tests/facts/{ipc,one-gpu}
}

# case NAME STATUS: runs one case of ipc_cases, which must end in time with this status. $output has
# both processes' stdout and stderr.
case_ends() {
    run bounded "$PROGRAMS/ipc_cases" "$1"
    [ "$status" = "$2" ] ||
        miss "ipc_cases $1: exit status $status, expected $2." \
            "(SIM_SCHEDULE=${SIM_SCHEDULE:-measured})" "$output"
}

# ---- recorded ----

@test "two processes on one GPU: the recorded lines" {
    # The program also frees while the other side holds the allocation, which the checker reports
    # (next test).
    SIM_CHECK=off bounded "$FACTS/ipc" >out 2>err
    run diff "$ROOT/simulator/tests/facts/ipc.txt" out
    assert_output ""
    run cat err
    assert_output ""
}

@test "the checker reports what the recorded script does wrong, in both processes" {
    run bounded "$FACTS/ipc"
    report="hazard: free while another process holds the allocation\. cudaFreeAsync \(stream"
    report+=" 1\) frees allocation 2, which process [0-9]+ has imported and not freed"
    assert_output --regexp "$report"
    report="hazard: use after another process's free\. cudaMemsetAsync \(stream 1\) uses"
    report+=" allocation 2, which process [0-9]+ \(cudaFreeAsync, its stream 1\) has freed"
    assert_output --regexp "$report"
    [ "$(grep -c '^hazard: ' <<<"$output")" = 2 ]
}

@test "exporting: the lines that were recorded on one GPU" {
    SIM_CHECK=off bounded "$FACTS/one-gpu" export >out
    # Ignore spaces, because each program prints a call as its source writes it.
    run diff <(sed -n '/^## export/,/^$/p' "$ROOT/simulator/tests/facts/one-gpu.txt" | sed '/^$/d' |
        tr -d ' ') <(tr -d ' ' <out)
    assert_output ""
}

@test "every other rule of sharing" {
    local schedule
    for schedule in measured late; do      # late: work is pending when its pool is destroyed
        SIM_SCHEDULE=$schedule run bounded "$PROGRAMS/ipc_rules" rules
        [ "$status" = 0 ]
        assert_output --partial "all as expected"
        refute_output --partial "hazard"
    done
}

@test "no descriptor is left open" {
    run bounded "$PROGRAMS/ipc_rules" descriptors
    assert_line "0 more"
}

@test "where files may not grow (ulimit -f), an allocation fails with a sentence, not a signal" {
    run bounded "$PROGRAMS/ipc_rules" limited
    [ "$status" = 0 ]
    assert_output --partial "all as expected"
    assert_output --partial "this process may write files of at most 83886080 (ulimit -f)"
}

# ---- the checker across processes (more is in simulator/tests/litmus) ----

@test "shared memory of the host: each process says once that its touches are not compared" {
    local said="simulated device: memory of the host is shared between processes. This process's"
    said+=" loads and stores there are not compared with the work of other processes."
    case_ends host_pool 0
    [ "$output" = "$said"$'\n'"$said" ] || miss "It says:" "$output" || return
    SIM_CHECK=off case_ends host_pool 0
    [ "$output" = "" ] || miss "Without the checker it says:" "$output"
}

@test "an import after the exporter's free" {
    case_ends import_freed 3
    report="hazard: import after another process's free\. cudaMemPoolImportPointer imports an"
    report+=" allocation that process [0-9]+ \(cudaFreeAsync, its stream 1\) has freed"
    assert_output --regexp "$report"
}

@test "SIM_CHECK=off reports nothing, and the calls return the same" {
    local one
    for one in import_freed taken_place too_many_accesses; do
        SIM_CHECK=off case_ends "$one" 0 || return
        refute_output --partial "hazard"
    done
}

# ---- what a pool keeps ----

@test "1024 exported allocations: one that is freed, and imported nowhere, makes room for another" {
    case_ends entries 3
    assert_output --partial "more than 1024 allocations of one pool are exported and not freed"
    assert_output --partial "hazard: free while another process holds the allocation."
    assert_equal "$(grep -c '^hazard: ' <<<"$output")" 1
}

@test "30,000 accesses: those that a host has waited for go, and then others are compared again" {
    case_ends many_accesses 0
    [ "$output" = "" ] || miss "It says something:" "$output" || return
    case_ends too_many_accesses 3
    assert_output --partial "have 20000 accesses and imports that no process has waited for."
    assert_output --partial "hazard: unordered writes of two processes. cudaMemsetAsync (stream 1)"
}

@test "an export takes the place of an import whose exporter has freed it" {
    case_ends taken_place 3
    assert_output --partial "hazard: free while another process holds the allocation."
    assert_equal "$(grep -c '^hazard: ' <<<"$output")" 1
}

# ---- a side dies ----

@test "the exporter dies before the event is reached: the importer waits no longer" {
    local one
    for one in exporter_dies_stream exporter_dies_host; do
        run bounded "$PROGRAMS/ipc_cases" "$one"
        [ "$status" = 137 ]
        assert_line "the wait ended"
        report="simulated device: process [0-9]+ has ended before the work in front of its"
        report+=" cudaEventRecord was done"
        assert_output --regexp "$report"
    done
}

@test "the exporter's device fails before the event is reached: the importer waits no longer" {
    SIM_SCHEDULE=late SIM_CHECK=off case_ends exporter_fails 0
    assert_line "the wait ended"
    report="simulated device: the device of process [0-9]+ has failed before the work in front of"
    report+=" its cudaEventRecord was done"
    assert_output --regexp "$report"
}

@test "a process is alive while one of its threads is, also when its first one has ended" {
    case_ends exporter_goes_on 0
    [ "$output" = "" ] || miss "It says something:" "$output"
}

@test "the importer dies: what waits for it ends with an error, what it held can be freed" {
    case_ends importer_dies_recorded 0
    assert_line "the wait ended"
    case_ends importer_dies_holding 0
    [ "$output" = freed ]
}

# ---- the journal ----

@test "two processes, one SIM_JOURNAL: a file each, whole" {
    local journals
    SIM_JOURNAL=journal case_ends host_pool 0
    journals=(journal*)
    [ "${#journals[@]}" = 2 ]
    [[ ${journals[1]} =~ ^journal\.[0-9]+$ ]]
    for one in "${journals[@]}"; do
        jq -es '.[0].did == "start" and .[-1].did == "exit" and .[-1].hazards == 0' \
            "$one" >/dev/null || miss "$one is not whole:" "$(cat "$one")" || return
    done
    jq -es 'any(.[]; .call == "cudaMemPoolImportPointer" and .allocation == 1
        and .process != null)' journal* >/dev/null
}

@test "%p in SIM_JOURNAL is the pid" {
    SIM_JOURNAL=run.%p.jsonl case_ends host_pool 0
    local journals=(run.*.jsonl)
    [ "${#journals[@]}" = 2 ]
    [[ ${journals[0]} =~ ^run\.[0-9]+\.jsonl$ ]]
}

@test "one after the other, two processes use the same name" {
    SIM_JOURNAL=journal "$PROGRAMS/ipc_rules" rules >/dev/null 2>&1
    SIM_JOURNAL=journal "$PROGRAMS/ipc_rules" limited >/dev/null 2>&1
    run ls
    assert_output journal
    [ "$(jq -s 'map(select(.did == "start")) | length' journal)" = 1 ]
}

# ---- sanitizers ----

# bats test_tags=long
@test "address and undefined behaviour sanitizers find nothing" {
    make_sanitized address,undefined simulator/tests/unit/{ipc_cases,ipc_rules}
    local one
    export LD_LIBRARY_PATH=$ROOT/build/simulator-address-undefined ASAN_OPTIONS=detect_leaks=0
    export PROGRAMS=$LD_LIBRARY_PATH/simulator/tests/unit
    for one in host_pool many_accesses importer_dies_recorded; do
        case_ends "$one" 0 || return
        refute_output --regexp "ERROR: AddressSanitizer|runtime error"
    done
    case_ends taken_place 3
    run bounded "$PROGRAMS/ipc_rules" rules
    [ "$status" = 0 ]
    assert_output --partial "all as expected"
}
