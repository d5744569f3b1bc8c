#!/usr/bin/env bats
# What the checks show, and what they ask of a room. Solutions with one mistake are judged in
# mutants.bats, and starters in grader.bats.

load ../suite

setup_file() { know_compiler; }

@test "every lesson has its starter, solution, page and a room with all that belongs there" {
    local lesson file
    for lesson in $(lessons); do
        for file in "lessons/$lesson.c" "solutions/$lesson.c" "docs/$lesson.rst" \
            "tests/lessons/$lesson"/{manifest.ini,rules.bats,check.py,variants.txt} \
            "tests/lessons/$lesson/expected/output.txt"; do
            [ -s "$file" ] || complain "$file is missing or empty."
        done
        grep -q "^== mutant " "tests/lessons/$lesson/variants.txt" ||
            complain "tests/lessons/$lesson/variants.txt: there is no mutant."
        grep -q "^== style " "tests/lessons/$lesson/variants.txt" ||
            complain "tests/lessons/$lesson/variants.txt: there is no style, a right answer."
    done
    [ -n "$(lessons)" ] || complain "There is no lesson."
    finish
}

@test "a lesson's file as it is delivered is what its variants.txt makes of the solution" {
    local lesson
    # shellcheck disable=SC2046  # names
    make -s $(lessons | sed 's|.*|build/starters/&.c|')
    for lesson in $(lessons); do
        cmp -s "build/starters/$lesson.c" "lessons/$lesson.c" ||
            complain "lessons/$lesson.c or its solution was changed. Type: make starters"
    done
    finish
}

@test "every starter's heading names the kind of its exercise, in the words of its solution" {
    local lesson task
    for lesson in $(lessons); do
        task=$(sed -n '/^ \* Task/,/^ \* Run/p' "lessons/$lesson.c")
        [[ "$task" =~ ^\ \*\ Task\ \((fill|fix|predict)\):\  ]] ||
            complain "lessons/$lesson.c: no line begins with \" * Task (fill|fix|predict): \"."
        [ "$task" = "$(sed -n '/^ \* Task/,/^ \* Run/p' "solutions/$lesson.c")" ] ||
            complain "lessons/$lesson.c and solutions/$lesson.c differ in the student's task."
    done
    [ "$(grep -l '^ \* Task (predict): ' lessons/*.c | wc -l)" -ge 2 ] ||
        complain "Fewer than two lessons are predictions."
    [ "$(grep -l '^ \* Task (fix): ' lessons/*.c | wc -l)" -ge 6 ] ||
        complain "Fewer than six lessons are programs to repair."
    finish
}

@test "a check shows the first miss in full, of the others their names, in its columns" {
    local misses
    check lessons/08_stream_order.c 08_stream_order
    assert_failure
    misses=$(grep -c '^  MISS  ' <<<"$output")
    assert [ "$misses" -ge 4 ]
    assert_equal "$(grep -c '^        Expected: ' <<<"$output")" 1
    assert_equal "$(grep -c '^ *hazard: ' <<<"$output")" 1
    assert_line "Begin with the first miss. ALL=1 shows all $misses in full."
    assert_line "        A hint: make hint-08"
    assert_line --regexp \
        '^        The page: (build/docs/html|docs)/08_stream_order\.(html|rst \(make book.*)$'
    assert_output --partial \
        " passed, $misses failed, 1 not judged until that is repaired. Points: 0 of"
    ALL=1 check lessons/08_stream_order.c 08_stream_order
    assert_equal "$(grep -c '^        Expected: ' <<<"$output")" "$misses"
    refute_line --partial "ALL=1"
    refute_line --regexp '.{101}'
    COLUMNS=80 check lessons/08_stream_order.c 08_stream_order
    refute_line --regexp '.{81}'
}

@test "what is not in a journal has nothing before it, nothing after it, and ends no part" {
    run in_grader <<'PYTHON'
from check import Journal
lines = Journal({"n": n} for n in range(1, 6))
two, four = lines[1], lines[3]
for found in (lines.before(None), lines.after(None), lines.between(two, None),
        lines.between(None, four), lines.between(two, four), lines.part(two, None),
        lines.part(None, four), lines.part(None, None)):
    print(found.column("n"))
PYTHON
    assert_output "[]
[]
[]
[]
[3]
[3, 4, 5]
[1, 2, 3]
[1, 2, 3, 4, 5]"
}

@test "points: a rule that the starter meets costs one when it is broken, and none when it waits" {
    run in_grader <<'PYTHON'
from judge import count_points
for results in ("m m w w w w w", "m m w w w w w F", "m w W F", "f w W", "w w F"):
    names = {"m": "passed", "w": "skipped", "f": "failed"}
    rules = [{"result": names[x.lower()], "given": x.isupper()} for x in results.split()]
    print(results, "=", count_points(rules, 1))
PYTHON
    assert_output "m m w w w w w = 6
m m w w w w w F = 5
m w W F = 1
f w W = 0
w w F = 0"
}

@test "lesson 08 holds its advice back until its check misses a second time" {
    export CHECK_TRIES=$BATS_TEST_TMPDIR/tries
    check lessons/08_stream_order.c 08_stream_order
    assert_line --regexp '^ *hazard: '
    refute_line --partial "To do:"
    assert_line "        What to do about it is shown when the check misses again."
    check lessons/08_stream_order.c 08_stream_order
    assert_line --regexp '^ *To do: '
    refute_line --partial "What to do about it"
    check solutions/08_stream_order.c 08_stream_order
    assert_success
    assert_file_not_exist "$CHECK_TRIES/08_stream_order"
}

@test "a function that the check calls, and the file lacks or has otherwise, is named" {
    local mine=$BATS_TEST_TMPDIR/mine.c
    sed 's/\bpredict_freed(/predict_all(/' solutions/04_release_threshold.c >"$mine"
    check "$mine" 04_release_threshold
    assert_failure
    assert_output --partial "/mine.c has no function predict_freed,"
    sed 's/ predict_freed(.*freed/&, int more/; s/{predict_freed(reserved, mib/&, 0/' \
        solutions/04_release_threshold.c >"$mine"
    check "$mine" 04_release_threshold
    assert_failure
    assert_output --partial "Happened: where the check calls it: too few arguments to function"
}

@test "a function that calls itself without end is not taken for device memory alone" {
    sed 's/^static void serve(.*/static int deep(int n)\n{\n    volatile char room[4096] = {0};\n\
    return n == -1 ? 0 : deep(n + 1) + room[0];\n}\n\n&/
        s/^    size_t count = bytes.*/&\n    answers[0] = deep(0);/' solutions/05_cost.c \
        >"$BATS_TEST_TMPDIR/mine.c"
    check "$BATS_TEST_TMPDIR/mine.c" 05_cost
    assert_failure
    assert_output --partial "died of signal SIGSEGV"
    assert_output --partial "a function calls itself without end"
}

# bats test_tags=long
@test "a run that does not end says where it is: in a loop, or in a call of one of two threads" {
    local file=$BATS_TEST_TMPDIR/mine.c line
    sed 's/^    size_t count = bytes.*/&\n    while (requests > 20) continue;/' \
        solutions/05_cost.c >"$file"
    CHECK_SECONDS=1 check "$file" 05_cost
    assert_failure
    line=$(grep -n 'requests > 20' "$file" | cut -d: -f1)
    assert_output --partial "it did not end, and was stopped in line $line"

    # No thread has the turn 7, so this one waits without end.
    sed 's/^    turn_begin(CONSUMER);/    turn_begin(7);/' solutions/13_threads.c >"$file"
    CHECK_SECONDS=4 check "$file" 13_threads
    assert_failure
    line=$(grep -n ' pthread_cond_wait' "$file" | cut -d: -f1)
    assert_equal "$(tr -s ' \n' ' ' <<<"$output" | grep -o "in pthread_cond_wait in line $line")" \
        "in pthread_cond_wait in line $line"
}

@test "a check in which a rule waits, and none is missed, does not pass" {
    run in_grader <<'PYTHON'
import sys
import judge
from check import Waits

def waiting(check):
    raise Waits("first repair what is missed above")

waiting.sentence, waiting.section = "a rule", 0
judge.load_rules = lambda name: [waiting]
sys.argv = ["judge.py", "01_first_allocation", "solutions/01_first_allocation.c"]
sys.exit(judge.main())
PYTHON
    assert_equal "$status" 1
}

@test "what the functions died of is said with the student's line, before anything else" {
    local file=$BATS_TEST_TMPDIR/mine.c line
    sed 's/^    size_t count = bytes.*/&\n    if (requests > 20) *(volatile int *)8 = 0;/' \
        solutions/05_cost.c >"$file"
    check "$file" 05_cost
    assert_failure
    line=$(grep -n 'volatile int' "$file" | cut -d: -f1)
    assert_output --partial "Happened: called by the check, it died of signal SIGSEGV in line $line"
    # One reason is missed once: what dies of it again waits.
    assert_equal "$(grep -c '^  MISS ' <<<"$output")" 1
}

@test "what nobody has set is no luck, also where the compiler cannot set it" {
    local with=$CHECK_COMPILER lesson
    grep -q auto-var-init <<<"$with" || skip "this compiler sets nothing"
    local mutant=build/mutants/03_custom_pool/properties_not_cleared.c
    python3 -SB tools/variants.py make "$mutant"
    for CHECK_COMPILER in "$with" "$(grep -v auto-var-init <<<"$with")"; do
        check "$mutant" 03_custom_pool
        assert_failure
        assert_output --partial "returned cudaErrorInvalidValue"
    done
    for lesson in 03_custom_pool 08_stream_order; do
        check "solutions/$lesson.c" "$lesson"
        assert_success
    done
}

@test "the first miss alone: the rules behind it wait, and the report leaves them out" {
    local file=lessons/04_release_threshold.c said
    said=$(as_typed python3 -SB tests/grading/judge.py 04_release_threshold $file --first \
        --form=json) && miss "It passes: $said"
    run jq -c '.given + .possible == (.rules | length),
        (.rules | map(.result) | index("failed") as $first | .[$first + 1:] | length > 0, unique)' \
        <<<"$said"
    assert_output $'true\ntrue\n["skipped"]'
    run as_typed python3 -SB tests/grading/judge.py 04_release_threshold $file --first --form=brief
    assert_failure
    refute_output --partial wait
    assert_equal "$(grep -c '^  MISS  ' <<<"$output")" 1
}

@test "the report folds a long line below the text behind its label, and breaks no word" {
    local report
    report=$(in_grader <<'PYTHON'
from report import wrapped
lines = ["word " * 30, "  read       " + "ab " * 40, "x" * 120 + " end", "   12 | " + "y " * 60]
print("\n".join(line for each in lines for line in wrapped("        " + each)))
PYTHON
    )
    assert_equal "$(sed -n 2p <<<"$report" | cut -c 1-14)" "          word"
    assert_equal "$(sed -n 4p <<<"$report" | cut -c 1-24)" "                     ab "
    grep -qx " *x\{120\}" <<<"$report" || miss "$report"
    grep -qE '^ +12 \| .{110}' <<<"$report" || miss "$report"
}

@test "STEP judges by the rules up to a section of the page, and names those that there are" {
    make -s build/mutants/22_capstone/up_to_section_2.c
    export CHECK_TRIES=$BATS_TEST_TMPDIR/tries
    STEP=2 run bash tools/check.sh 22_capstone build/mutants/22_capstone/up_to_section_2.c
    assert_success
    assert_line "4 passed, 0 failed, of the rules up to section 2 of the page."
    STEP=3 run bash tools/check.sh 22_capstone build/mutants/22_capstone/up_to_section_2.c
    assert_failure
    assert_line --partial "MISS  a program with little memory"
    refused "STEP=7: the rules of 22_capstone have 1 to 6, the sections of its page." \
        STEP=7 bash tools/check.sh 22_capstone solutions/22_capstone.c
    refused "STEP=2: the rules of 06_trim have no section." \
        STEP=2 bash tools/check.sh 06_trim solutions/06_trim.c
    refused "SEED=x: expected a whole number with at most nine digits." \
        SEED=x bash tools/check.sh 06_trim solutions/06_trim.c
}

@test "a line that a program prints to find a mistake costs a sentence, and no point" {
    python3 -SB tools/variants.py make build/styles/02_default_pool/debug_lines_on_stdout.c
    check build/styles/02_default_pool/debug_lines_on_stdout.c 02_default_pool
    assert_success
    assert_line --partial "Note: it prints a line more than expected, which costs nothing."
}

@test "a check shows what a run wrote to stderr once, and whole reports" {
    export ALL=1
    check lessons/17_ipc_allocation.c 17_ipc_allocation
    [ "$(grep -c 'On stderr it printed:' <<<"$output")" = 1 ] || complain "$output"
    [ "$(grep -c 'On stderr it printed the same as above' <<<"$output")" = 2 ] || complain "$output"
    [ "$(grep -c '^ *hazard: ' <<<"$output")" = "$(grep -c '^ *To do: ' <<<"$output")" ] ||
        complain "A report has lost its advice:" "$output"
    ! grep -E '.{101}' <<<"$output" || complain "These lines are too long."
    finish
}

@test "a miss does not blame a file for memory that the check's own program has not freed" {
    sed '/^    CHECK(cudaStreamSynchronize(stream));$/{N;/\n}/s/^[^\n]*\n//}' solutions/05_cost.c \
        >"$BATS_TEST_TMPDIR/05_cost.c"
    ALL=1 check "$BATS_TEST_TMPDIR/05_cost.c" 05_cost
    assert_failure
    assert_output --partial "request of 4 bytes, answers[0] was -1 when serve returned"
    refute_output --partial "freed when the program ended"
}

@test "what a student's function prints beside its answer hides no miss, and is none" {
    local file=$BATS_TEST_TMPDIR/04_release_threshold.c
    sed 's/    (void)freed;/    printf("freed = %zu", freed);/
        s/    return kept < reserved ? kept : reserved;/    printf("x");\n    return kept;/' \
        solutions/04_release_threshold.c >"$file"
    judge "$file" 04_release_threshold --form=json
    run jq -r '.rules[] | select(.name | startswith("predict_")) | .result, .lines[0]' <<<"$output"
    assert_line --index 0 passed
    assert_line --index 2 failed
    assert_output --partial "a threshold takes no memory from the device"
}

# bats test_tags=long
@test "bats tests/lessons needs no make before it: a clone without build/ makes what it needs" {
    local clone=$BATS_TEST_TMPDIR/clone
    need_git_clone
    git clone -q "$ROOT" "$clone"
    cd "$clone" || return 1
    # To optimize the simulated device would be half of the work.
    printf '#!/bin/sh\nexec "%s" "$@" -O0\n' "$(type -P "${CC:-gcc}")" >compiler
    chmod +x compiler
    accepted CC="$PWD/compiler" bats tests/lessons/06_trim tests/lessons/clinic/02_stash
    refute_output --partial "# skip"
}

# bats test_tags=long
@test "a lesson that make new-lesson has made passes these tests from the start" {
    in_copy workbook
    mkdir docs
    cp "$ROOT/README.md" .
    cp "$ROOT/docs/index.rst" docs
    refused "give NAME=my_topic, in small letters, digits and underscores." \
        make new-lesson NAME=My-topic
    refused "there is a lesson of that name: lessons/05_cost.c" make new-lesson NAME=cost
    refused "has 25 characters. The name of a lesson has at most 24." \
        make new-lesson NAME=of_a_name_with_25_letters
    # "pool" is the end of a lesson's name, and still free. Two at once get a number each.
    as_typed make new-lesson NAME=pool >/dev/null &
    accepted make new-lesson NAME=pond
    wait $!
    assert_equal "$(compgen -G 'lessons/2[34]_po*' | cut -c 9-10 | sort)" $'23\n24'
    rm -r {lessons,solutions,tests/lessons,docs}/2[34]_po*
    accepted make new-lesson NAME=my_topic
    assert_line --partial "TEST_LONG=1 bats tests/{grading/checks,grading/mutants,book/solutions"
    assert_equal "$(grep -A 1 '^   22_' docs/index.rst)" "   22_capstone
   23_my_topic"
    assert_file_contains README.md 'My topic'
    # The other lessons go, because they would only take time.
    rm -r {lessons,solutions,tests/lessons}/[01]*_* {lessons,solutions,tests/lessons}/2[0-2]_*
    refused "        Happened: the calls and streams were [('launch_fill', 1)]." make check-23
    accepted make check-23 FILE=solutions/23_my_topic.c
    assert_line "2 passed, 0 failed. Points: 2 of 2"
    accepted bats tests/grading/checks.bats -f "every lesson has"
    assert_line --partial "1..1"
    TEST_LONG=1 accepted bats tests/grading/mutants.bats -f "every mutant"
    TEST_LONG=1 accepted bats tests/book/solutions.bats -f "no size|every schedule|byte for"
}

# bats test_tags=long
@test "bats judges a room, a file of one's own too, and names what rules.bats and check.py lack" {
    local room=tests/lessons/06_trim
    grading_copy "$BATS_TEST_TMPDIR/copy"
    fails() { # fails WORDS COMMAND...: Bats prints them behind a "#"
        run as_typed "${@:2}"
        assert_failure
        assert_line --regexp "^# .*$1"
    }
    accepted bats "$room"
    cd "$BATS_TEST_TMPDIR"
    cp "$ROOT/lessons/06_trim.c" mine.c
    fails 'Happened: ' LESSON=mine.c bats "$ROOT/$room"
    fails "LESSON=none.c: there is no such C file." LESSON=none.c bats "$ROOT/$room"
    cd copy
    sed -i 's/rule end;/rule ends;/' "$room/rules.bats"
    fails "$room/check.py has no test_ends, the rule of a test in rules.bats." bats "$room"
    sed -i '/rule ends;/d' "$room/rules.bats"
    fails "$room/check.py has test_end, and rules.bats no test of that rule." bats "$room"
    sed -i 's/rule between;/judge between;/' "$room/rules.bats"
    fails "$room/rules.bats:[0-9]+: expected @test " bats "$room"
}
