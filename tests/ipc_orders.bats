#!/usr/bin/env bats
# The checker across the border between processes: ways to order work that are right, and ways that are wrong, each run by real processes.

load helpers

RIGHT=(told_by_host_function free_behind_host_function write_behind_host_function rounds one_event free_by_own_event free_after_host_wait free_after_query
    import_freed_by_cudafree imported_twice relay)

setup_file() {
    make -s BACKEND=simulator build/simulator/tests/simulator/{ipc_orders,ipc_accused}
    make -s BACKEND=simulator SANITIZE=address,undefined build/simulator-address-undefined/tests/simulator/ipc_orders
    make -s BACKEND=simulator SANITIZE=thread build/simulator-thread/tests/simulator/ipc_orders
}

setup() {
    unset "${!SIM_@}"
    at build/simulator
    cd "$BATS_TEST_TMPDIR" || return 1
}

at() { export LD_LIBRARY_PATH=$ROOT/$1 programs=$ROOT/$1/tests/simulator; }

# ends PROGRAM NAME STATUS: one case, within its time, ends so
ends() {
    run timeout 20 "$programs/$1" "$2"
    [ "$status" = "$3" ] || miss "$1 $2: exit status $status, expected $3 (pace ${SIM_SCHEDULE:-measured})." "$output"
}

silent() {
    local one
    for one in "$@"; do
        ends ipc_orders "$one" 0 || return
        [ "$output" = "" ] || miss "ipc_orders $one says something under pace ${SIM_SCHEDULE:-measured}:" "$output" || return
    done
}

@test "right orders are not accused: measured and instant pace" {
    SIM_SCHEDULE=measured silent "${RIGHT[@]}"
    SIM_SCHEDULE=instant silent "${RIGHT[@]}"
}

@test "right orders are not accused: late and random paces" {
    local pace
    for pace in late random:1 random:2; do SIM_SCHEDULE=$pace silent "${RIGHT[@]}" || return; done
}

# accused CASE REGEXP: the case is accused, in these words, under each pace
accused() {
    local pace
    for pace in measured instant late; do
        SIM_SCHEDULE=$pace ends ipc_accused "$1" 3 || return
        assert_output --regexp "$2" || return
        [ "$(grep -c '^hazard:' <<<"$output")" = 1 ] || miss "ipc_accused $1: more than one report under pace $pace." "$output" || return
    done
}

@test "an event that is recorded before the write, or waited for before it is recorded, orders nothing" {
    accused recorded_too_early "hazard: unordered writes of two processes\. launch_add \(stream 1\) and process [0-9]+ \(launch_fill, its stream 1\).*simulator/ipc_accused.c:[0-9]+"
    SIM_SCHEDULE=measured ends ipc_accused waited_too_early 3
    assert_output --regexp "hazard: unordered writes of two processes\. launch_add \(stream 1\) and process [0-9]+ \(launch_fill, its stream 1\)"
}

@test "a message without a wait before it orders nothing" {
    accused read_back_unordered "hazard: unordered writes of two processes\. launch_add \(stream 1\) and process [0-9]+ \(launch_add, its stream 1\)"
}

@test "the importer's event must come after its free" {
    accused recorded_before_the_free "hazard: free before another process's use ends\. cudaFreeAsync \(stream 1\) frees allocation 1, and nothing orders it after the free by process [0-9]+ \(cudaFreeAsync, its stream 1\)"
}

@test "an imported block that is not freed is a leak of the importer" {
    accused never_freed "hazard: leak\..*cudaMemPoolImportPointer.*cudaFree\."
}

@test "address and undefined behaviour sanitizers find nothing" {
    export ASAN_OPTIONS=detect_leaks=0
    at build/simulator-address-undefined
    silent free_behind_host_function rounds relay free_after_host_wait
}

@test "the thread sanitizer finds nothing" {
    export SIM_MEMORY=1G TSAN_OPTIONS=atexit_sleep_ms=0
    at build/simulator-thread
    silent told_by_host_function one_event
}
