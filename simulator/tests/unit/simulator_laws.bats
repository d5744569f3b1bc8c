#!/usr/bin/env bats
# The simulated device's invariants after each step of random walks, and under the sanitizers.

# bats file_tags=more
load ../../../tests/suite

setup_file() {
    make -s BACKEND=simulator \
        build/simulator/simulator/tests/unit/{inside_clocks,behaviour,flat,host_rules} \
        build/simulator/simulator/tests/{facts/walks,litmus/random}
}

setup() { unset "${!SIM_@}"; }

# What make test leaves out, make test-all does.
STEPS=${TEST_LONG:+10000}
STEPS=${STEPS:-3000}

# in_build BUILD PROGRAM [ARGUMENT...]: runs a test program of build/BUILD with that library
in_build() {
    local build=$1 program=$2
    shift 2
    TSAN_OPTIONS=atexit_sleep_ms=0 LD_LIBRARY_PATH="$ROOT/build/$build" bounded \
        "$ROOT/build/$build/simulator/tests/unit/$program" "$@"
}

# ended STATUS BUILD PROGRAM [ARGUMENT...]: the same; the program ends with this status, and no
# sanitizer finds anything
ended() {
    run in_build "${@:2}"
    [ "$status" = "$1" ] && [[ $output != *Sanitizer* && $output != *"runtime error"* ]] ||
        miss "${*:2} ($(env | grep '^SIM_' | xargs)): exit status $status" "$output"
}

@test "a vector clock holds what an array would, in trees of one level and of several" {
    local slots
    for slots in 40 640 40000 70000; do
        ended 0 simulator inside_clocks $((slots < 100 ? 20 * STEPS : STEPS)) $slots
    done
}

# walk PROFILE SEED [STATUS]: a random walk over a pool, in which every law holds after each call,
# and which frees blocks in any stream
walk() {
    SIM_CHECK_LAWS=1 ended "${3:-0}" "${BUILD:-simulator}" ../facts/walks "$2" 400 "$1"
    assert_line end
}

# programs FIRST COUNT: every law holds after each call of random programs, which are judged, too
programs() {
    SIM_CHECK_LAWS=1 SIM_CHECK=leaks,no-init ended 0 "${BUILD:-simulator}" \
        ../litmus/random streams "$@"
}

@test "every law holds after each call of random walks, in which memory is short at times" {
    local seed profile
    export SIM_CHECK=off
    for seed in 1 ${TEST_LONG:+2 3 4}; do
        for profile in 0 1 2 3 4; do
            SIM_MEMORY=2G walk $profile "$seed"
            SIM_MEMORY=256M walk $profile "$seed"
        done
    done
    for profile in 0 2; do
        SIM_MEMORY=256M walk $profile 5
        assert_output --partial cudaErrorMemoryAllocation
    done
}

# bats test_tags=long
@test "the laws hold under every schedule" {
    local schedule
    export SIM_CHECK=off SIM_MEMORY=256M
    for schedule in instant late random:5; do SIM_SCHEDULE=$schedule walk 0 9; done
}

@test "with segments of other sizes the laws hold" {
    local segment
    for segment in 2 7 48; do SIM_CHECK=off SIM_SEGMENT=$segment walk 0 6; done
}

@test "the checker, which reports much of a walk, breaks no law either" { walk 0 5 3; }

@test "the laws hold in random programs of streams, graphs, and threads, and in threads at once" {
    programs 1 $((STEPS / 30))
    SIM_CHECK_LAWS=1 ended 0 simulator host_rules copies_beside
}

@test "memory stays flat: ten times as many rounds need no more, whatever begins and ends in them" {
    local case rounds=${TEST_LONG:+200}
    rounds=${rounds:-60}
    for case in $(in_build simulator flat); do
        ended 0 simulator flat "$case" "$rounds"
    done
    SIM_SCHEDULE=late ended 0 simulator flat queried "$rounds"
}

# bats test_tags=long
@test "address and undefined-behaviour sanitizers find nothing in random and odd programs" {
    make_sanitized address,undefined libptx.so simulator/tests/facts/{one-gpu,walks} \
        simulator/tests/litmus/random simulator/tests/unit/{behaviour,host_rules,instructions}
    local one BUILD=simulator-address-undefined
    SIM_CHECK=off walk 0 6
    walk 0 7 3
    programs 1 40
    for one in first pointers; do
        SIM_CHECK=off ended 0 simulator-address-undefined ../facts/one-gpu "$one"
    done
    for one in fail seconds in_fork; do
        ended 0 simulator-address-undefined behaviour "$one"
    done
    ended 3 simulator-address-undefined behaviour host_function
    for one in $(in_build simulator host_rules); do
        ended 0 simulator-address-undefined host_rules "$one"
    done
    SIM_CHECK=no-race ASAN_OPTIONS=detect_leaks=0 ended 0 simulator-address-undefined \
        instructions values
}

# bats test_tags=long
@test "under the address sanitizer a frame pointer may be any number" {
    make_sanitized address,undefined simulator/tests/unit/inside_broken
    ended 0 simulator-address-undefined inside_broken frame
    assert_output "a site"
}

# bats test_tags=long
@test "the thread sanitizer finds nothing in host functions, threads, and a walk" {
    local one
    make_sanitized thread simulator/tests/facts/walks simulator/tests/unit/{behaviour,host_rules}
    ended 3 simulator-thread behaviour host_function
    # It allows no call in a child of several threads, and delays a signal to a waiting thread.
    for one in sizes destroyed_while_awaited copies_beside; do
        SIM_MEMORY=4G ended 0 simulator-thread host_rules "$one"
    done
    SIM_CHECK=off BUILD=simulator-thread walk 0 8
}

@test "SIM_CHECK_LAWS=1: a broken law ends the next call with a sentence; correct programs run" {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/inside_broken
    local law program programs with
    for law in segments watermark capped ranges account plain_heap; do
        SIM_CHECK_LAWS=1 ended 1 simulator inside_broken "$law"
        assert_output --partial "after cudaGetLastError a law of the simulation"
        ended 0 simulator inside_broken "$law"
        assert_output returned
    done
    SIM_CHECK_LAWS=1 ended 0 simulator inside_broken nothing
    assert_output returned
    SIM_CHECK_LAWS=2 ended 2 simulator inside_broken nothing
    assert_output --partial 'SIM_CHECK_LAWS is "2"; expected 1 or 0.'
    mapfile -t programs < <(lessons)
    make -s BACKEND=simulator "${programs[@]/#/build/simulator/solutions/}"
    for program in "${programs[@]}"; do
        with=$(SIM_CHECK=no-init SIM_CHECK_LAWS=1 \
            bounded "build/simulator/solutions/$program" 2>&1 \
            >"$BATS_TEST_TMPDIR/out") ||
            complain "$program with SIM_CHECK_LAWS=1:" "$with"
        cmp -s <(words "tests/lessons/$program/expected/output.txt") \
            <(words "$BATS_TEST_TMPDIR/out") ||
            complain "$program prints something else with SIM_CHECK_LAWS=1."
    done
    finish
}
