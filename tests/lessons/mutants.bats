#!/usr/bin/env bats
# The checks checked: each mutant, a solution with one of the mistakes that students make, must miss
# a rule in words that fit the mistake; each style, a right answer that its author would not have
# written, must meet all (judge_mutants.py beside this). make test judges the first mutant of each
# lesson, make test-all every mutant and every style.

load ../suite

setup_file() { know_compiler; }

# judge_lesson NN_name: complains about what judge_mutants.py prints
judge_lesson() {
    local chosen=()
    [ -n "${TEST_LONG:-}" ] ||
        chosen=("$(basename -as .patch "tests/lessons/$1/mutants"/*.patch | head -n 1)")
    run as_typed python3 -B tests/lessons/judge_mutants.py "$1" "${chosen[@]}"
    [ "$status" = 0 ] || complain "$output"
    echo "${output##*$'\n'}" >>"$BATS_FILE_TMPDIR/kept"
}

@test "every mutant misses a rule in the words that its patch names; every style meets all" {
    local lesson
    for lesson in $(lessons); do judge_lesson "$lesson"; done
    finish
}

# bats test_tags=long
@test "one mistake keeps at least 60 % of a lesson's points, in the mean" {
    local kept
    kept=$(awk '{ mutants += $2; kept += $2 * $5 } END { printf "%.2f", kept / mutants }' \
        "$BATS_FILE_TMPDIR/kept")
    [ "${kept/./}" -ge 060 ] || miss "They keep $kept:" "$(cat "$BATS_FILE_TMPDIR/kept")"
}

@test "every mutant compiles without a warning where make builds it" {
    local lesson patch goals=()
    for lesson in $(lessons); do
        for patch in tests/lessons/"$lesson"/mutants/*.patch; do
            patch=${patch##*/}
            goals+=("build/simulator/mutants/$lesson/${patch%.patch}")
            [ -n "${TEST_LONG:-}" ] || break
        done
    done
    run as_typed make -s --keep-going -j"$(nproc)" "${goals[@]}"
    assert_success
    assert_output ""
}

@test "a patch that no longer applies is named; so is a mutant that is not there" {
    local copy=$BATS_TEST_TMPDIR/copy folder=tests/lessons/01_first_allocation
    mkdir -p "$copy/tests/lessons" "$copy/simulator"
    cp -a Makefile solutions tools "$copy"
    cp -a simulator/*.mk "$copy/simulator"
    cp -a tests/build.mk tests/grading "$copy/tests"
    cp -a $folder "$copy/tests/lessons"
    sed -i '/launch_add/d' "$copy/solutions/01_first_allocation.c"
    run make -s -C "$copy" build/mutants/01_first_allocation/free_before_last_use.c
    assert_failure
    assert_line --partial "$folder/mutants/free_before_last_use.patch does not apply to solutions/"
    run make -s BACKEND=simulator solution-06 MUTANT=nothing
    assert_failure
    assert_output --partial "tests/lessons/06_trim/mutants/nothing.patch does not exist."
    assert_output --partial "The mutants of 06_trim are: "
    assert_output --partial " keep_in_mib "
}
