#!/usr/bin/env bats
# Litmus tests of the checker across processes: correct and incorrect ways to order work on one
# allocation, each run by two or three real processes.

load ../../../tests/suite
load ../unit/programs

# Those that lack nothing.
CORRECT=(sent_by_host_function free_behind_host_function write_behind_host_function rounds
    imported_twice)

PROGRAMS=$ROOT/build/simulator/simulator/tests/litmus

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/litmus/{ipc_pairs,random}
}

# sanitized KIND: the same programs, with the simulated device, under a sanitizer
sanitized() {
    make_sanitized "$1" simulator/tests/litmus/ipc_pairs
    export LD_LIBRARY_PATH=$ROOT/build/simulator-${1//,/-}
    PROGRAMS=$LD_LIBRARY_PATH/simulator/tests/litmus
}

# silent CASE...: nothing is reported, nor printed
silent() {
    local one
    for one in "$@"; do
        exits 0 "$PROGRAMS/ipc_pairs" "$one" || return
        [ "$output" = "" ] ||
            miss "ipc_pairs $one, ${SIM_SCHEDULE:-measured}: it prints:" "$output" || return
    done
}

# pair CASE REGEXP [once]: correct, and reported in these words without what its heading names,
# under each schedule; once: and in no other report
pair() {
    local schedule
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule silent "$1" || return
        exits 3 env SIM_SCHEDULE="$schedule" "$PROGRAMS/ipc_pairs" "$1" without || return
        assert_output --regexp "$2" || return
        [ -z "${3:-}" ] || [ "$(grep -c '^hazard:' <<<"$output")" = 1 ] ||
            miss "ipc_pairs $1 without, $schedule: more than one report." "$output" || return
    done
}

@test "correct ways are not reported: host functions, many records of an event, two imports" {
    local schedule
    for schedule in measured instant late random:1 random:2; do
        SIM_SCHEDULE=$schedule silent "${CORRECT[@]}" || return
    done
}

@test "an event recorded before the write, or waited for before it is recorded, is no edge" {
    local words="hazard: unordered writes of two processes\. launch_add \(stream 1\) and "
    local other="process [0-9]+ \(launch_fill, its stream 1\)" at="at .*litmus/ipc_pairs.c:[0-9]+"
    words+=$other
    pair recorded_after_the_write "$words.*written +$other, $at.*written +launch_add.* $at" once
    pair waited_after_the_record "$words"
}

@test "the importer's event must come after its free, and the exporter must wait for it" {
    local words="hazard: free before another process's use ends\. "
    words+="cudaFreeAsync \(stream 1\) frees "
    pair recorded_after_the_free "${words}[a-z]+ 1, and nothing orders it after the free by \
process [0-9]+ \(cudaFreeAsync, its stream 1\)" once
    pair freed_after_a_wait \
        "${words}allocation 1 while process [0-9]+ \(launch_add, its stream 1\)" once
}

@test "an imported allocation that is not freed is a leak of the importer" {
    pair freed_at_the_end "hazard: leak\..*cudaMemPoolImportPointer.*cudaFree\." once
}

@test "what one host has waited for is over for all, also where nothing else is shared" {
    pair host_elsewhere "hazard: unordered writes\. launch_fill \(stream 2\) and launch_fill"
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

# bats test_tags=more
@test "random programs: reported at the first incorrect call, or silent to the end" {
    local part count=${TEST_LONG:+120} parts=()
    count=$((${COUNT:-${count:-40}} / 4))
    for part in 0 1 2 3; do
        "$PROGRAMS/random" processes $((1 + part * count)) $count >"part.$part" 2>&1 &
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
    silent free_behind_host_function rounds imported_twice
}

# bats test_tags=long
@test "the thread sanitizer finds nothing" {
    export SIM_MEMORY=1G TSAN_OPTIONS=atexit_sleep_ms=0
    sanitized thread
    silent sent_by_host_function imported_twice
}
