#!/usr/bin/env bats
# The clinic: each broken program comes to what the page says, and each repaired one prints what an
# H200 printed. That it does so under every schedule is tested in tests/lessons/clinic.

load ../suite

FOLDER=build/check/clinic
# shellcheck disable=SC2206  # two words, or none
SCHEDULES=(measured late ${TEST_LONG:+instant random:1})

# What a broken program comes to: CASE STATUS KIND. The status holds under every schedule, but for
# case 10: with an instant device it works. The kind is that of the first hazard ("none": the
# numbers, or an error code, show it).
EXPECTED='
01_handed_over   3 free before the use ends
02_stash         3 write not ordered after a read
03_barrier       3 read not ordered after a write
04_two_threads   3 unordered writes
05_staging       3 host write not ordered after a read
06_short_lived   3 bad handle
07_fork          3 free before the use ends
08_two_graphs    3 use after free
09_two_devices   1 none
10_tight_memory  1 none
11_grown         3 use before allocation
'

setup_file() {
    local program programs=() name schedule status
    for name in $(cases); do programs+=("docs/clinic/${name}_wrong" "repairs/$name"); done
    rm -rf "$FOLDER"
    mkdir -p "$FOLDER"
    unset "${!SIM_@}"
    export SIM_CHECK=leaks
    know_compiler
    make -s -j2 BACKEND=simulator "${programs[@]/#/build/simulator/}"
    for program in "${programs[@]}"; do
        name=${program##*/}
        [[ $name == *_wrong ]] || name+=_right
        for schedule in "${SCHEDULES[@]}"; do
            status=0
            SIM_SCHEDULE=$schedule bounded "build/simulator/$program" </dev/null \
                >"$FOLDER/$name.$schedule.out" 2>"$FOLDER/$name.$schedule.err" || status=$?
            echo "$status" >"$FOLDER/$name.$schedule.status"
            [[ $name == *_wrong ]] || break
        done
    done
}

cases() { awk 'NF { print $1 }' <<<"$EXPECTED"; }
expected_status() { awk -v name="$1" '$1 == name { print $2 }' <<<"$EXPECTED"; }
expected_kind() {
    awk -v name="$1" '$1 == name { $1 = $2 = ""; sub(/^ +/, ""); print }' <<<"$EXPECTED"
}
# recorded PROGRAM: what an H200 printed
recorded() { awk -v name="$1:" '/^== / { on = $2 == name; next } on' docs/recorded/clinic.txt; }
recorded_status() {
    awk -v name="$1:" '/^== / && $2 == name { print $3 }' docs/recorded/clinic.txt
}
differs="prints something else than the recorded H200 (<: here, >: recorded)"

@test "eleven cases: two forms a few lines apart, their report, and a page that asks first" {
    local name page file link lines broken repaired words
    assert_equal "$(cases)" "$(basename -a docs/clinic/*_wrong.c | sed 's/_wrong.c//')"
    assert_equal "$(cases | wc -l)" 11
    for name in $(cases); do
        broken=docs/clinic/${name}_wrong.c
        repaired=build/repairs/$name.c
        page=docs/clinic/$name.rst
        [ -e "$page" ] || { complain "$page does not exist."; continue; }
        [ "$(diff "$broken" "$repaired" | grep -c '^[<>]')" -le 12 ] ||
            complain "$name: its two forms differ in more than a few lines."
        cmp -s <(sed '/^#include/,$d' "$broken") <(sed '/^#include/,$d' "$repaired") ||
            complain "$name: its two forms have different headings."
        for file in "$broken" "$repaired"; do
            lines=$(wc -l <"$file")
            [ "$lines" -ge 40 ] && [ "$lines" -le 80 ] || complain "$file has $lines lines."
            ! grep -nE '.{101}' "$file" || complain "$file has long lines."
        done
        sed '/^#include/,$d' "$broken" | grep -oE 'https://github.com/[A-Za-z0-9_./-]+/[0-9]+' \
            >"$BATS_TEST_TMPDIR/links" || complain "$name names no report."
        words=$(tr -s '\n ' ' ' <"$page")
        while read -r link; do
            [[ $words == *[\<\`]"$link"[\>\`]* ]] ||
                complain "$page does not link $link, which $name names."
        done < <(sed -E 's|https://github.com/||; s|/[a-z]+/([0-9]+)$| \1|' \
            "$BATS_TEST_TMPDIR/links")
        grep -q "^Case $((10#${name%%_*})):" "$page" ||
            complain "$page has another number."
        for file in "case $name" "desk $name" "report docs/clinic/${name}_wrong" \
            "repair repairs/$name"; do
            grep -qx ".. clinic:: $file" "$page" || complain "$page lacks: clinic:: $file"
        done
        # Of the run and of the repair nothing stands before the question.
        sed '/^The report$/,$d' "$page" >"$BATS_TEST_TMPDIR/before"
        grep -q '^\.\. predict::' "$BATS_TEST_TMPDIR/before" ||
            complain "$page asks nothing before its report."
        [ "$(grep -c '^\.\. literalinclude::' "$BATS_TEST_TMPDIR/before")" = 2 ] ||
            complain "$page does not show its program in two pieces."
        ! grep -nE '^ *\.\. (run|stepper|source:: difference|picture|clinic:: rep)' \
            "$BATS_TEST_TMPDIR/before" || complain "$page gives its case away."
    done
    finish
}

@test "each page of rules has two cases, and their manifest names its part" {
    local page part name cases
    for page in docs/rules/*.rst; do
        part=$(sed -n 's/^\.\. collected:: rules //p' "$page")
        cases=$(grep -oE 'clinic/[0-9]{2}_\w+_wrong' "$page" | sed 's/_wrong//')
        [ "$(wc -w <<<"$cases")" = 2 ] || complain "$page has not two cases:" "$cases"
        for name in $cases; do
            sed -n "/^\[${name#*/}\]/,/^part/p" tests/lessons/clinic/manifest.ini |
                grep -qxF "part = $part" || complain "$page: $name is not of its part $part."
        done
    done
    finish
}

# bats test_tags=more
@test "each broken program comes to what the page says, under every schedule" {
    local name schedule status kind wanted
    for name in $(cases); do
        for schedule in "${SCHEDULES[@]}"; do
            status=$(cat "$FOLDER/${name}_wrong.$schedule.status")
            kind=$(sed -n 's/^hazard: \([^.]*\)\..*/\1/p' "$FOLDER/${name}_wrong.$schedule.err" |
                head -n 1)
            wanted=$(expected_status "$name")
            [ "$name.$schedule" != 10_tight_memory.instant ] || wanted=0
            [ "$status" = "$wanted" ] ||
                complain "$name, $schedule: exit status $status, not $wanted."
            [ "${kind:-none}" = "$(expected_kind "$name")" ] ||
                complain "$name, $schedule: '${kind:-none}', not '$(expected_kind "$name")'."
        done
    done
    finish
}

@test "each repaired program prints what an H200 printed" {
    local name
    for name in $(cases); do
        diff "$FOLDER/${name}_right.measured.out" <(recorded "${name}_right") ||
            complain "${name}_right $differs."
        assert_equal "$name: $(recorded_status "${name}_right")" "$name: 0"
    done
    finish
}

@test "a broken program finds on the simulated device the incorrect numbers that an H200 printed" {
    local name
    # How far the device was at the barrier depends on the machine.
    distance() { sed 's/barrier: [0-9]* /barrier: N /'; }
    for name in $(cases); do
        diff <(distance <"$FOLDER/${name}_wrong.measured.out") \
            <(recorded "${name}_wrong" | distance) ||
            complain "${name}_wrong $differs."
        [ "$(recorded_status "${name}_wrong")" != 0 ] ||
            complain "${name}_wrong ended well on the H200."
    done
    grep -q 'found at the barrier: 40 ' <(recorded 03_barrier_right) ||
        complain "The recording of case 3 is not what it was."
    ! grep -q 'found at the barrier: 40 ' <(recorded 03_barrier_wrong) \
        "$FOLDER/03_barrier_wrong.measured.out" ||
        complain "Case 3 finds all additions at the barrier."
    finish
}

@test "the reports name both calls, with their lines" {
    local name line
    while read -r name line; do
        line=$(grep -nF "$line" "docs/clinic/${name}_wrong.c" | head -n 1 | cut -d : -f 1)
        [ -n "$line" ] && grep -q "${name}_wrong.c:$line\b" "$FOLDER/${name}_wrong.measured.err" ||
            complain "No report on $name names its line ${line:-?}."
    done <<'LINES'
01_handed_over cudaMemcpyAsync(table.data, first.data
01_handed_over cudaFreeAsync(dropped.data
02_stash cudaMemcpyAsync(stash, weights
02_stash launch_fill(activations
03_barrier launch_add(parts
03_barrier cudaFreeAsync(parts
04_two_threads launch_fill(block, 1
04_two_threads launch_fill(block, 2
07_fork launch_fill(scratch
07_fork cudaGraphAddMemFreeNode(
08_two_graphs launch_fill(workspace
08_two_graphs cudaFreeAsync(workspace
11_grown cudaMallocAsync((void **)&taken
11_grown launch_fill(second
LINES
    finish
}

# That the repaired programs pass: tests/lessons/clinic/*/rules.bats.
# bats test_tags=long
@test "the checks of the cases: the broken program does not pass" {
    local name
    for name in $(cases); do
        judge "docs/clinic/${name}_wrong.c" "clinic/$name"
        [ "$status" = 1 ] || complain "$name: its broken program passes." "$output"
    done
    finish
}

# make test judges the first mutant of each case.
# bats test_tags=more
@test "the checks of the cases: each incorrect repair misses the rule that it names, others pass" {
    local name names
    mapfile -t names < <(cases | sed 's|^|clinic/|')
    if [ -n "${TEST_LONG:-}" ]; then
        for name in "${names[@]}"; do
            run as_typed python3 -SB tests/grading/judge_mutants.py "$name"
            [ "$status" = 0 ] || complain "$output"
            [[ $output == *"mutants keep"* ]] || complain "$name has no mutant."
        done
        finish
    else
        accepted python3 -SB tests/grading/judge_mutants.py --first "${names[@]}"
        assert_equal "$(grep -c ': 1 mutants keep ' <<<"$output")" "${#names[@]}"
    fi
}

@test "make check-clinic-03: which file, a repair, and a case that is not there" {
    refused "    make check-clinic-03 FILE=mine.c" make check-clinic-3
    cp build/repairs/03_barrier.c "$BATS_TEST_TMPDIR/mine.c"
    accepted make check-clinic-03 FILE="$BATS_TEST_TMPDIR/mine.c"
    assert_line --partial "Case 03 is repaired."
    accepted make clinic-03 FILE="$BATS_TEST_TMPDIR/mine.c" BACKEND=simulator
    assert_line --partial "found at the barrier: 40 1 1"
    for goal in clinic-99 check-clinic-99 repaired-99; do
        refused "make $goal: there is no case 99 in the clinic. There are:" make "$goal"
        assert_line "    03_barrier"
        refute_output --partial 08_stream_order
    done
}

@test "make clinic-03, make clinic-3 and make repaired-03" {
    local goal mine=$BATS_TEST_TMPDIR/mine.c
    for goal in clinic-3 clinic-03; do
        refused "hazard: read not ordered after a write." make BACKEND=simulator $goal
        assert_output --partial "Error 3"
        assert_line "Case 03 is broken. It ended with status 3."
        assert_line "    cp docs/clinic/03_barrier_wrong.c mine.c"
        assert_line "    make check-clinic-03 FILE=mine.c"
        [ "$(wc -L <<<"$output")" -le 100 ] || miss "A line is longer than 100 columns:" "$output"
    done
    cp docs/clinic/03_barrier_wrong.c "$mine"
    refused "make check-clinic-03 FILE=$mine judges it." \
        make BACKEND=simulator clinic-03 FILE="$mine"
    refute_line --partial "is broken"
    accepted make BACKEND=simulator repaired-03
    assert_output --partial "found at the barrier: 40 1 1"
}
