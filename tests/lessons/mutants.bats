#!/usr/bin/env bats
# The checks checked: each mutant, a solution with one of the mistakes that students make, must fail
# its check in words that fit the mistake. tests/lessons/mutants/NN_name/MISTAKE.patch makes the
# mistake. Three lines above the patch say what is wrong, how the name of the test begins that fails
# (Fails:), and a part of what that test then says (Says:). make test judges the first mutant of
# each lesson, make test-all every one.

load ../suite

# Sets patches to those that are judged.
choose() {
    local folder all
    patches=()
    for folder in tests/lessons/mutants/*/; do
        all=("$folder"*.patch)
        [ -n "${TEST_LONG:-}" ] || all=("${all[0]}")
        patches+=("${all[@]}")
    done
}

setup_file() {
    local patches
    choose
    patches=("${patches[@]%.patch}")
    {
        make -s --keep-going mutant-sources || echo "make ended with status $?."
        make -s --keep-going -j"$(nproc)" \
            "${patches[@]/#tests\/lessons/build/simulator}" || echo "make ended with status $?."
    } >"$BATS_FILE_TMPDIR/make" 2>&1
}

@test "every mutant's patch applies to its solution, and it compiles without a warning" {
    [ ! -s "$BATS_FILE_TMPDIR/make" ] || miss "$(cat "$BATS_FILE_TMPDIR/make")"
}

# heading PATCH: reads what stands above it into $fails and $says
heading() {
    local mistake
    {
        IFS= read -r mistake
        IFS= read -r fails
        IFS= read -r says
    } <"$1"
    if [ -z "$mistake" ] || [[ $fails != "Fails: "?* ]] || [[ $says != "Says:  "?* ]]; then
        complain "$1: expected three lines above the patch: what is wrong, then Fails: and Says:."
        return 1
    fi
    fails=${fails#Fails: }
    says=${says#Says:  }
}

# judge_mutant LESSON/MISTAKE TEST: what the check says of it by that one test, into $output
judge_mutant() {
    output=$(
        export LESSON=build/mutants/$1.c CHECK_PROGRAM=build/simulator/mutants/$1
        export CHECK_FOLDER=build/check/mutants/$1 CHECK_TEST=$2
        exec "$BASH" tests/grading/first_miss.sh "${1%/*}" 2>&1 3>&- 4>&-
    ) || true
}

@test "every mutant fails in the test and with the words that its patch names, no two alike" {
    local patch patches mutant fails says output words
    local -A seen=()
    choose
    for patch in "${patches[@]}"; do
        heading "$patch" || continue
        mutant=${patch#tests/lessons/mutants/}
        mutant=${mutant%.patch}
        judge_mutant "$mutant" "$fails"
        words=${output%%$'\n'See it yourself:*}
        words="${mutant%/*}: ${words%%$'\n'On stderr it printed:*}"
        if [[ $output != "  MISS  $fails"* ]]; then
            complain "$patch: no test fails whose name begins so: $fails" "$output"
        elif [[ $output != *"$says"* ]]; then
            complain "$patch: the test that fails does not say: $says" "$output"
        elif [ -n "${seen[$words]:-}" ]; then
            complain "$patch fails in the words of ${seen[$words]}:" "$output"
        fi
        seen[$words]=$patch
    done
    [ "${#seen[@]}" != 0 ] || complain "There is no mutant."
    finish
}

@test "a patch that no longer applies is named; so is a mutant that is not there" {
    local copy=$BATS_TEST_TMPDIR/copy folder=tests/lessons/mutants
    mkdir -p "$copy/$folder" "$copy/simulator"
    cp -a Makefile solutions "$copy"
    cp -a simulator/*.mk "$copy/simulator"
    cp -a tests/build.mk tests/commands tests/grading "$copy/tests"
    cp -a $folder/0[12]_* "$copy/$folder"
    sed -i '/launch_add/d' "$copy/solutions/01_first_allocation.c"
    run make -s -C "$copy" --keep-going mutant-sources
    assert_failure
    assert_line --partial \
        "$folder/01_first_allocation/free_before_last_use.patch does not apply to solutions/01_"
    refute_output --partial 02_default_pool
    run make -s BACKEND=simulator solution-06 MUTANT=nothing
    assert_failure
    assert_output --partial "$folder/06_trim/nothing.patch does not exist."
    assert_output --partial "The mutants of 06_trim are: keep_in_mib "
}
