#!/usr/bin/env bats
# Litmus tests of the checker: small programs that are correct, and incorrect variants of them.
#
# A file that includes litmus.h has cases on one subject. A case is a heading, the functions and
# variables that it alone needs, and LITMUS(NAME, ...). As it stands it is a correct program, of
# which nothing may be reported. Compiled with -DWRONG it is NAME_wrong, which must be reported.
#
# The heading says what is ordered and how. After "WRONG:" it says what is incorrect, most often
# which edge is missing. Lines "KEY: value" speak of the correct program, those after "WRONG:" of
# the other:
#   Devices:   how many GPUs both need, if not 1
#   Schedules: those under which both are run, if not all of litmus.py: a run may cost much
#   Status:    the exit status, if not 0
#   Prints:    the output under every schedule
#   Late:      the output under the schedule late
#   Kind:      the hazard that must be reported
#   Also:      another hazard that may be reported
#   Says:      words that the report must have
#   Fatal:     why the program is stopped even with SIM_CHECK=off
# The calls that the report must name, with their lines, are marked by one of these comments, at the
# end of the line or alone on the line before. Where the marked line has no call, it is the host's
# own load or store.
#   access, previous access, allocation, free, access given, access taken

# bats file_tags=more
load ../../../tests/suite

setup_file() {
    local programs
    mapfile -t programs < <(grep -l '^#include "litmus.h"' simulator/tests/litmus/*.c)
    programs=("${programs[@]/%.c/}" "${programs[@]/%.c/_wrong}" simulator/tests/litmus/random)
    make -s -j"$(nproc)" BACKEND=simulator "${programs[@]/#/build/simulator/}"
    litmus run
}

litmus() { timeout 600 python3 -B simulator/tests/litmus/litmus.py "$1"; }

@test "every incorrect variant says what is wrong, and differs in at most three lines" {
    litmus variants
}

@test "every incorrect program is reported, with its calls and lines, under every schedule" {
    litmus incorrect
}

@test "no correct program is reported, nor prints anything on stderr, under any schedule" {
    litmus correct
}

@test "a program prints what its heading says, under every schedule or under late" {
    litmus prints
}

# bats test_tags=long
@test "SIM_CHECK=off: nothing is reported" {
    [ -n "${TEST_LONG:-}" ] || skip "make test-all runs every program unchecked, too"
    litmus unchecked
}

# random_programs KIND COUNT: in four parts, at once
random_programs() {
    local part count=$(($2 / 4)) parts=()
    unset "${!SIM_@}"
    export SIM_CHECK=leaks,no-init
    for part in 0 1 2 3; do
        build/simulator/simulator/tests/litmus/random "$1" $((1 + part * count)) $count \
            >"$BATS_TEST_TMPDIR/random.$part" 2>&1 &
        parts+=($!)
    done
    for part in 0 1 2 3; do
        wait "${parts[part]}" || complain "$(cat "$BATS_TEST_TMPDIR/random.$part")"
    done
    finish
}

@test "random programs: reported at the first incorrect call, or silent to the end" {
    local count=${TEST_LONG:+1200}
    random_programs streams "${COUNT:-${count:-400}}"
}

@test "programs of several processes, from seeds: likewise" {
    local count=${TEST_LONG:+120}
    random_programs processes "${COUNT:-${count:-40}}"
}
