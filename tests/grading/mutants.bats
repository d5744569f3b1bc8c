#!/usr/bin/env bats
# Tests of the checks. Each mutant, a solution with one mistake that students make, must miss a rule
# in words that fit the mistake. Each style, a right answer that its author would not have written,
# must meet all rules (judge_mutants.py). Both are in the variants.txt of a lesson, from which
# tools/variants.py makes the programs. make test judges the first mutant of each lesson, and make
# test-all every mutant and every style.

load ../suite

setup_file() { know_compiler; }

# bats test_tags=more
@test "every mutant misses a rule in the words that it names; every style meets all" {
    local lessons
    mapfile -t lessons < <(lessons)
    if [ -n "${TEST_LONG:-}" ]; then
        run as_typed xargs -n 1 -P "$(nproc)" python3 -SB tests/grading/judge_mutants.py \
            <<<"${lessons[*]}"
    else
        run as_typed python3 -SB tests/grading/judge_mutants.py --first "${lessons[@]}"
    fi
    assert_success
    grep ' mutants keep ' <<<"$output" >"$BATS_FILE_TMPDIR/kept"
    assert_equal "$(wc -l <"$BATS_FILE_TMPDIR/kept")" "${#lessons[@]}"
}

# bats test_tags=long
@test "one mistake keeps at least 80 % of a lesson's points, in the mean" {
    local kept
    kept=$(awk '{ mutants += $2; kept += $2 * $5 } END { printf "%.2f", kept / mutants }' \
        "$BATS_FILE_TMPDIR/kept")
    [ "${kept/./}" -ge 080 ] || miss "They keep $kept:" "$(cat "$BATS_FILE_TMPDIR/kept")"
}

@test "an edit whose lines stand nowhere or twice is named, with its place" {
    local room=tests/lessons/01_first_allocation copy=$BATS_TEST_TMPDIR/copy edit said
    local solution=solutions/01_first_allocation.c
    mkdir -p "$copy"/{tools,solutions,"$room"}
    cp tools/{variants,usage}.py "$copy/tools"
    lines one two three two one >"$copy/$solution"
    while IFS='|' read -r edit said; do
        printf '== style tried: It is tried.\n%b\n' "$edit" >"$copy/$room/variants.txt"
        run python3 -SB "$copy/tools/variants.py" make build/styles/01_first_allocation/tried.c
        [ "$status" = 1 ] || complain "$edit: status $status, not 1"
        [[ $output == "$room/variants.txt:"*"$said"* ]] || complain "$edit: it says $output"
    done <<END
- four\n+ 4|2: style tried: in $solution these lines of the edit stand nowhere
- two\n+ 2|2: style tried: in $solution these lines of the edit stand at lines 2 and 4
+ 0|2: style tried: this edit has new lines alone
  three|2: style tried: this edit has no line
- three\n--\n- three\n- two|4: style tried: another edit changes this line, too: three
  three\n+ 3\n--\n+ 4\n  two\n  one|5: style tried: another edit adds lines here, too: 4
- three\nfour|3: expected a line that begins
- three\n~ two|3: expected a line that begins with "- ", "+ " or two blanks, or with "~ " and has
- one\n-...\n- three|2: style tried: in $solution these lines of the edit stand at lines 1 and 5
- three\n-...\n- four|2: style tried: below "-..." no line of $solution follows.
- three\n-...|2: style tried: below "-..." no line of $solution follows.
- three\n+ 3\n- four|4: style tried: in $solution these lines of the edit stand nowhere
- three\n+ 3\n  one|4: style tried: this edit has no line
|1: style tried changes nothing
- three\n== style tried\n- one\n  two|3: style tried stands here for the second time
- three\n== Style tried\n- one\n  two|3: expected "== starter"
END
    lines "== style tried: It is tried." "  two" "+" "~ [-three-]{+3+}" "+ four" "" "== mutant x" \
        "- three" >"$copy/$room/variants.txt"
    python3 -SB "$copy/tools/variants.py" make build/styles/01_first_allocation/tried.c
    run cat "$copy/build/styles/01_first_allocation/tried.c"
    assert_output "$(lines one two "" 3 four two one)"
    # What does not stand next, below new lines, is another edit.
    lines "== style tried" "  one" "  two" "+ 2" "- two" "- one" >"$copy/$room/variants.txt"
    python3 -SB "$copy/tools/variants.py" make build/styles/01_first_allocation/tried.c
    run cat "$copy/build/styles/01_first_allocation/tried.c"
    assert_output "$(lines one two 2 three)"
    lines "== starter" "  two" "- three" "-..." "- one" "" "== style tried of starter" "- one" \
        "  two" "+ 3" >"$copy/$room/variants.txt"
    python3 -SB "$copy/tools/variants.py" make build/styles/01_first_allocation/tried.c
    run cat "$copy/build/styles/01_first_allocation/tried.c"
    assert_output "$(lines two 3)"
    sed -i 's/of starter/of tried/' "$copy/$room/variants.txt"
    run python3 -SB "$copy/tools/variants.py" make build/styles/01_first_allocation/tried.c
    assert_output "$room/variants.txt: style tried: above it there is no tried."
    finish
}

@test "a mutant that is not there is named, with those that are" {
    refused "tests/lessons/06_trim/variants.txt has no mutant nothing." \
        make -s BACKEND=simulator solution-06 MUTANT=nothing
    assert_line --regexp "^The mutants of 06_trim are: .* keep_in_mib "
    refute_line --regexp '.{101}'
    run python3 -SB tests/grading/judge_mutants.py 06_trim nothing
    assert_failure 1
    assert_output "tests/lessons/06_trim/variants.txt has no nothing."
}

@test "make mutant writes a mistake with what its check says, and a right answer as a style" {
    local room=tests/lessons/06_trim mine=$BATS_TEST_TMPDIR/mine.c
    in_copy grading
    sed 's|(pool, second)|(pool, second / 2)|' solutions/06_trim.c >"$mine"
    accepted make mutant LESSON=6 NAME=half_kept FILE="$mine" ABOUT="Keeps half of that."
    run sed -n '/^== mutant half_kept: Keeps half of that[.]$/,$p' "$room/variants.txt"
    assert_line --index 1 --regexp '^misses between: .*phase 2 needs'
    assert_line --index 2 "~     CHECK(cudaMemPoolTrimTo(pool, second{+ / 2+}));"
    make -s build/mutants/06_trim/half_kept.c
    cmp "$mine" build/mutants/06_trim/half_kept.c
    refused "$room/variants.txt already has a mutant half_kept." \
        make mutant LESSON=06 NAME=half_kept FILE="$mine"
    sed 's/(pool, second)/(pool, 1 * second)/' solutions/06_trim.c >"$mine"
    refused "meets every rule of 06_trim" make mutant LESSON=06 NAME=right FILE="$mine"
    accepted make mutant LESSON=06 KIND=style NAME=right FILE="$mine"
    make -s build/mutants/06_trim/half_kept.c
    tail -n 1 "$room/variants.txt" | grep -qF "~     CHECK(cudaMemPoolTrimTo(pool, {+1 * +}"
    refused "LESSON=99: there is no such lesson or case." \
        make mutant LESSON=99 NAME=right FILE="$mine"
    refused "has less than half of solutions/06_trim.c: take a copy of that file." \
        make mutant LESSON=06 NAME=other FILE=solutions/07_statistics.c
}
