#!/usr/bin/env bats
# Litmus tests of the checker across processes: correct and incorrect ways to order work on one
# allocation, each run by two or three real processes.

load ../../../tests/suite

CORRECT=(sent_by_host_function free_behind_host_function write_behind_host_function rounds
    one_event free_by_own_event free_after_host_wait free_after_query import_freed_by_cudafree
    imported_twice relay)

setup_file() {
    make -s BACKEND=simulator \
        build/simulator/simulator/tests/litmus/ipc_{correct,incorrect,pairs,random}
}

setup() {
    unset "${!SIM_@}"
    export SIM_CHECK=leaks
    at build/simulator
    cd "$BATS_TEST_TMPDIR" || return 1
}

at() { export LD_LIBRARY_PATH=$ROOT/$1 programs=$ROOT/$1/simulator/tests/litmus; }

# sanitized KIND: the same programs, with the simulated device, under a sanitizer
sanitized() {
    make -s -C "$ROOT" BACKEND=simulator SANITIZE="$1" \
        "build/simulator-${1//,/-}/simulator/tests/litmus/ipc_correct"
    at "build/simulator-${1//,/-}"
}

# ends PROGRAM "CASE..." STATUS: runs one case, which must end in time with this status
ends() {
    # shellcheck disable=SC2086 # a case may have two words
    run bounded "$programs/$1" $2
    [ "$status" = "$3" ] ||
        miss "$1 $2, ${SIM_SCHEDULE:-measured}: exit status $status, expected $3." "$output"
}

# silent CASE...: nothing is reported, nor printed
silent() {
    local one
    for one in "$@"; do
        ends ipc_correct "$one" 0 || return
        [ "$output" = "" ] ||
            miss "ipc_correct $one, ${SIM_SCHEDULE:-measured}: it prints:" "$output" || return
    done
}

# reported CASE REGEXP: one report, in these words, under each schedule
reported() {
    local schedule
    for schedule in measured instant late; do
        SIM_SCHEDULE=$schedule ends ipc_incorrect "$1" 3 || return
        assert_output --regexp "$2" || return
        [ "$(grep -c '^hazard:' <<<"$output")" = 1 ] ||
            miss "ipc_incorrect $1, $schedule: more than one report." "$output" || return
    done
}

@test "correct ways are not reported: schedules measured and instant" {
    SIM_SCHEDULE=measured silent "${CORRECT[@]}"
    SIM_SCHEDULE=instant silent "${CORRECT[@]}"
}

@test "correct ways are not reported: schedules late and random" {
    local schedule
    for schedule in late random:1 random:2; do
        SIM_SCHEDULE=$schedule silent "${CORRECT[@]}" || return
    done
}

@test "an event recorded before the write, or waited for before it is recorded, is no edge" {
    local words="hazard: unordered writes of two processes\. launch_add \(stream 1\) and "
    words+="process [0-9]+ \(launch_fill, its stream 1\)"
    reported recorded_too_early "$words.*litmus/ipc_incorrect.c:[0-9]+"
    SIM_SCHEDULE=measured ends ipc_incorrect waited_too_early 3
    assert_output --regexp "$words"
}

@test "a message without a wait before it is no edge" {
    local words="hazard: unordered writes of two processes\. launch_add \(stream 1\) and "
    reported read_back_unordered "${words}process [0-9]+ \(launch_add, its stream 1\)"
}

@test "the importer's event must come after its free, and the exporter must wait for it" {
    local words="hazard: free before another process's use ends\. cudaFreeAsync \(stream 1\) frees "
    words+="[a-z]+ 1, and nothing orders it after the free by process [0-9]+ "
    reported recorded_before_the_free "$words\(cudaFreeAsync, its stream 1\)"
    words="hazard: free before another process's use ends\. cudaFreeAsync \(stream 1\) frees "
    reported freed_without_a_wait \
        "${words}allocation 1 while process [0-9]+ \(launch_add, its stream 1\)"
}

@test "an imported allocation that is not freed is a leak of the importer" {
    reported never_freed "hazard: leak\..*cudaMemPoolImportPointer.*cudaFree\."
}

# pair CASE REGEXP: correct, and reported in these words without one wait, under each schedule
pair() {
    local schedule
    for schedule in measured instant late random:1; do
        SIM_SCHEDULE=$schedule ends ipc_pairs "$1" 0 || return
        [ "$output" = "" ] || miss "ipc_pairs $1, $schedule: it prints:" "$output" || return
        SIM_SCHEDULE=$schedule ends ipc_pairs "$1 without" 3 || return
        assert_output --regexp "$2" || return
    done
}

@test "what one host has waited for is over for all, also where nothing else is shared" {
    pair host_elsewhere "hazard: unordered writes\. launch_fill \(stream 2\) and launch_fill"
    local words="hazard: read not ordered after another process's write\. cudaMemcpyAsync"
    pair pipeline "$words \(stream 2\) and process [0-9]+ \(launch_add, its stream 1\)"
    words="hazard: use before another process's allocation|hazard: unordered writes of two proc"
    pair second_to_third "$words"
}

@test "an access outlives the import and the pool that it was made through" {
    local words="hazard: unordered writes\. launch_add \(stream 2\) and this process"
    pair imported_again "$words \(launch_fill, its stream 1\)"
    words="hazard: read not ordered after another process's write\. cudaMemcpyAsync"
    pair pool_destroyed "$words \(stream 1\) and process [0-9]+ \(launch_add, its stream 1\)"
}

@test "who frees while the last of twenty-one importers holds the allocation is reported" {
    pair many_importers "hazard: free while another process holds the allocation\. cudaFreeAsync"
}

@test "accesses in many streams to many parts of one allocation are all compared" {
    pair many_parts "hazard: unordered writes of two processes\. launch_fill \(stream 1\)"
    pair read_often "hazard: read not ordered after another process's write\. cudaMemcpyAsync"
    pair many_streams "hazard: unordered writes of two processes\. launch_add \(stream 1\)"
}

@test "random programs: reported at the first incorrect call, or silent to the end" {
    local part count=10 parts=()
    [ -z "${TEST_LONG:-}" ] || count=120
    for part in 0 1 2 3; do
        "$programs/ipc_random" $((1 + part * count)) $count >"part.$part" 2>&1 &
        parts+=($!)
    done
    for part in 0 1 2 3; do
        wait "${parts[part]}" || complain "$(cat "part.$part")"
    done
    finish
}

# bats test_tags=long
@test "address and undefined behavior sanitizers find nothing" {
    export ASAN_OPTIONS=detect_leaks=0
    sanitized address,undefined
    silent free_behind_host_function rounds relay free_after_host_wait
}

# bats test_tags=long
@test "the thread sanitizer finds nothing" {
    export SIM_MEMORY=1G TSAN_OPTIONS=atexit_sleep_ms=0
    sanitized thread
    silent sent_by_host_function one_event
}
