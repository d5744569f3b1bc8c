#!/usr/bin/env bats
# A graded run: SIM_SEAL. What is closed, what stays open, and when a journal counts.

load ../tools/helpers

setup_file() {
    make -s -C "$ROOT" BACKEND=simulator build/simulator/tests/simulator/sealed \
        build/simulator/lessons/03_stream_order
}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# sealed PROGRAM [ARGUMENT...]: runs it by run.sh, sealed (CHECK_SEAL), in the folder run
sealed() {
    rm -rf run && mkdir run
    CHECK_SEAL=${CHECK_SEAL:-1} "$BASH" "$ROOT/tests/tools/run.sh" run \
        LD_LIBRARY_PATH="$ROOT/build/simulator" SIM_JOURNAL="$PWD/run/journal.jsonl" \
        -- "$ROOT/build/simulator/$1" "${@:2}"
    status=$(<run/status) ended=''
    [ ! -s run/ended ] || ended=$(<run/ended)
}
case_of() { sealed tests/simulator/sealed "$@"; }

@test "a graded run can write to nothing, start nothing and look into nothing" {
    local CHECK_SEAL what words before
    local -A sentence=([create]="opens a file for writing" [fopen]="opens a file for writing"
        [open-both-ways]="opens a file for writing" [truncate]="opens a file for writing"
        [exec]="starts another program" [unlink]="removes a file" [rename]="renames a file"
        [ptrace]="looks into another process" [other-memory]="writes into another process"
        [executable]="makes memory executable" [executable-map]="that can be executed"
        [kill-all]="signals a group of processes" [network]="a connection to a network"
        [namespace]="makes a namespace" [namespace-clone]="makes a namespace"
        [filter]="filters system calls" [shared-memory]="leaves memory behind")
    [ "$(uname -m)" != x86_64 ] || sentence+=([32-bit]="by itself"
        [x32]="that no lesson needs" [instruction]="makes a system call by itself")
    for CHECK_SEAL in 1 exec; do
        # What comes by exec puts a filter of its own on top.
        [ "$CHECK_SEAL" = 1 ] || unset "sentence[filter]"
        for what in "${!sentence[@]}"; do
            for before in "" call; do
                case_of "$what" ${before:+"$before"}
                words=$(<run/stderr)
                [[ $status = 1 && $words == *"${sentence[$what]}"*"may not while it is graded"* &&
                    ! -e run/made && ! -s run/stdout ]] ||
                    complain "$CHECK_SEAL $what${before:+ behind a call}: status $status, $words"
            done
        done
        case_of system
        [ "$status" = 1 ] || complain "$CHECK_SEAL system: status $status"
        # The one place of paths that may be opened for writing is read-only.
        case_of own-path
        [[ $status = 139 && ! -e run/made ]] || complain "$CHECK_SEAL own-path: status $status"
    done
    finish
}

@test "without SIM_SEAL all of that is allowed" {
    local what
    cd "$BATS_TEST_TMPDIR" && : >journal.jsonl
    for what in create network executable unlink; do
        run "$ROOT/build/simulator/tests/simulator/sealed" "$what"
        [ "$status$output" = "0went on" ] || complain "$what: $status $output"
    done
    finish
}

@test "what a lesson needs stays: reading, threads, a second process, the lines of a report" {
    local what
    for what in nothing read thread two; do
        case_of "$what"
        [ "$status$ended" = 0 ] || complain "$what: status $status $ended $(cat run/stderr)"
    done
    [ -s run/journal.jsonl ] && [ -s run/journal.jsonl.1 ] ||
        complain "two processes: $(ls run)"
    sealed lessons/03_stream_order
    [ "$status$ended" = 3 ] || complain "lesson 03's starter: status $status $ended"
    grep -q 'at lessons/03_stream_order.c:[0-9]' run/stderr ||
        complain "no line in the report:" "$(head -n 4 run/stderr)"
    finish
}

@test "a program that may start itself again does so with the settings of its grader" {
    case_of again
    [[ $status = 1 && $(<run/stderr) == *"starts another program"* ]] ||
        complain "It may not: status $status $(cat run/stdout run/stderr)"
    CHECK_SEAL="exec" case_of again
    [[ $status$ended = 0 && $(<run/stdout) = "2 devices" && -s run/journal.jsonl ]] ||
        complain "It may: status $status $ended $(cat run/stdout run/stderr)"
    finish
}

@test "a journal that was written over, planted or taken away does not count" {
    # The program writes to every descriptor that it has.
    case_of write-journal
    assert_equal "$ended" journal
    # It ends without the end of its journal: that is for the check's other sentences.
    case_of end-early
    assert_equal "$status$ended" 0
    # Another process writes beside it: the files of the run are there when it begins.
    local made
    for made in 'echo {} >run/journal.jsonl' 'mkfifo run/journal.jsonl.3' \
        'echo {} >run/journal.jsonl.7' 'truncate -s 1T run/journal.jsonl' \
        'ln -s /dev/zero run/journal.jsonl'; do
        rm -rf run && mkdir run
        eval "$made"
        CHECK_SEAL=1 timeout 20 "$BASH" "$ROOT/tests/tools/run.sh" run \
            LD_LIBRARY_PATH="$ROOT/build/simulator" SIM_JOURNAL="$PWD/run/journal.jsonl" \
            -- "$ROOT/build/simulator/tests/simulator/sealed" nothing
        [ -s run/ended ] || complain "$made: the run counts."
    done
    finish
}

@test "the settings of a graded run cannot be changed in memory, and a bad SIM_SEAL is named" {
    local program=$ROOT/build/simulator/tests/simulator/sealed
    run env SIM_SEAL=77 "$program" nothing
    assert_equal "$status" 1
    assert_output --partial 'SIM_SEAL is "77"; expected the number of a descriptor'
    run env SIM_SEAL=here "$program" nothing
    assert_equal "$status" 1
    assert_output --partial 'SIM_SEAL is "here"'
}
