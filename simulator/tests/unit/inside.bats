#!/usr/bin/env bats
# What is found inside a kernel. Each program has cases, which it lists without an argument: PROGRAM
# CASE correct must be silent under every schedule; PROGRAM CASE incorrect must be reported.

# shellcheck disable=SC2034,SC2046,SC2086  # for programs.bash; lists of words

# bats file_tags=more
load ../../../tests/suite
load programs

PROGRAMS=.
# What a kernel's threads do among each other hardly depends on when the kernel runs. A seed changes
# the order of its warps.
SCHEDULES=(measured ${TEST_LONG:+random:3})

# checked NAME: makes ./NAME, whose uninitialized reads are reported, too
checked() {
    kernels "$1"
    SIM_CHECK=leaks
}

# pairs NAME HAZARD WORDS CASE...: reports of the incorrect cases have the words, too
pairs() {
    local case
    for case in "${@:4}"; do reported "$1" "$case" "$2" "$3" || return; done
}

# silent WORD NAME CASE: with SIM_CHECK=WORD the incorrect case is not reported
silent() {
    SIM_CHECK=$1 prints "" "./$2" "$3" incorrect
}

@test "a read of memory that nobody has written is reported; a copy of it carries that along" {
    checked unwritten
    pairs unwritten "uninitialized read" ", at " $(./unwritten)
    silent no-init unwritten pool
    silent no-init unwritten shared
}

@test "accesses of a block's threads to its shared memory that nothing orders are reported" {
    checked races
    pairs races "race in a block" "
  written    thread (" $(./races)
    assert_output --partial ") of block (0,0,0) at "
    silent no-race races found
    # The rule that few know is said with the report that rests on it.
    run bounded ./races found incorrect
    refute_output --partial "An atomic access"
    run bounded ./races histogram incorrect
    assert_line --partial \
        "Note:      An atomic access and an ordinary one of the same bytes race, too"
    # A copy reads and writes; its line is the same one in each run.
    run bounded ./races copy_async incorrect
    assert_line --regexp "^  written    thread \(64,0,0\) of block \(0,0,0\) at .*races.cu:$(
        grep -n cp.async.ca "$ROOT/simulator/tests/unit/kernels/races.cu" | cut -d: -f1)$"
    pairs races "race in a block" "shared memory while cp.async may still write it.
  launched " two_stages awaited_late own_copy counted
}

@test "blocks of a launch that touch the same bytes, with nothing that orders them, are reported" {
    checked blocks
    pairs blocks "race between blocks" "
  written    thread (" $(./blocks)
    silent no-race blocks flag
}

@test "in device memory, threads of a block and blocks of a cooperative launch are compared, too" {
    checked memory_races
    local all
    all=$(./memory_races | tr '\n' ' ')
    pairs memory_races "race in a block" "
  written    thread (" ${all%%phases*}
    pairs memory_races "race between blocks" ") at " phases ${all##*phases}
    silent no-race memory_races characters
    # Blocks of a cooperative launch can meet, so the advice begins with that.
    run bounded ./memory_races phases incorrect
    assert_line --regexp "^  To do:     call this_grid\(\)\.sync\(\) between the two, "
    silent no-race memory_races phases
}

@test "a write to an allocation that the launch was not given is reported; linked ones are right" {
    local form
    checked strays
    pairs strays "access outside the allocation" ", to which none of its arguments points. " \
        $(./strays | grep -v form_)
    exits 3 ./strays far_away incorrect
    assert_output --partial " touches byte 5 of allocation "
    exits 3 ./strays one_before incorrect
    assert_output --partial "first by thread (0,0,0) of block (0,0,0) at "
    for form in $(./strays | grep form_); do
        run bounded ./strays "$form"
        [ "$status $output" = "0 " ] || complain "$form: status $status." "$output"
    done
    finish
}

@test "barriers, shuffles, and votes to which not all threads come are reported" {
    checked misused
    local barriers="condition loop two_branches early_return"
    pairs misused "divergent barrier" "
  elsewhere  thread (" $barriers
    pairs misused "absent threads" "
  exchanged  thread (" $(./misused | grep -vxE "${barriers// /|}")
    silent no-sync misused condition
    silent no-sync misused vote
}

@test "programs of text files, many random: what is wrong in a kernel is reported, and no more" {
    local count=${TEST_LONG:+400} units=$ROOT/simulator/tests/unit
    count=${COUNT:-${count:-60}}
    checked scripted
    python3 -SB "$units/random_inside.py" 1 $count | cat "$units/inside.txt" - >programs.txt
    exits 0 ./scripted programs.txt
    python3 -SB "$units/random_inside.py" judge programs.txt <(printf '%s\n' "$output")
}
