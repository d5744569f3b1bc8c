#!/usr/bin/env bats
# The checks checked: a program that only prints must fail. (lessons/mutants.bats: solutions with
# one mistake; grader.bats: the starters.)

load ../tools/helpers

@test "every lesson has its starter, solution, check, expected output and mutants" {
    local lesson file
    for lesson in $(lessons); do
        for file in "lessons/$lesson.c" "solutions/$lesson.c" "tests/lessons/$lesson.bats" \
            "tests/lessons/expected/$lesson.txt"; do
            [ -s "$file" ] || complain "$file is missing or empty."
        done
        grep -q '^@test "' "tests/lessons/$lesson.bats" ||
            complain "tests/lessons/$lesson.bats tests nothing."
        compgen -G "tests/lessons/mutants/$lesson/*.patch" >/dev/null ||
            complain "tests/lessons/mutants/$lesson: there is no mutant."
    done
    [ -n "$(lessons)" ] || complain "There is no lesson."
    finish
}

@test "every starter's heading names the kind of its exercise, in the words of its solution" {
    local lesson yours
    for lesson in $(lessons); do
        yours=$(sed -n '/^ \* Yours/,/^ \* Run/p' "lessons/$lesson.c")
        [[ "$yours" =~ ^\ \*\ Yours\ \ (fill|fix|predict):\  ]] ||
            complain "lessons/$lesson.c: Yours begins with none of fill:, fix:, predict:."
        [ "$yours" = "$(sed -n '/^ \* Yours/,/^ \* Run/p' "solutions/$lesson.c")" ] ||
            complain "lessons/$lesson.c and solutions/$lesson.c differ in what is the student's."
    done
    [ "$(grep -l '^ \* Yours  predict: ' lessons/*.c | wc -l)" -ge 4 ] ||
        complain "Fewer than four lessons are predictions."
    [ "$(grep -l '^ \* Yours  fix: ' lessons/*.c | wc -l)" -ge 6 ] ||
        complain "Fewer than six lessons are programs to repair."
    finish
}

@test "a check shows what a run wrote to stderr once, and whole reports" {
    CHECK_FIRST_MISS='' check lessons/14_ipc_allocation.c 14_ipc_allocation
    [ "$(grep -c 'On stderr it printed:' <<<"$output")" = 1 ] || complain "$output"
    [ "$(grep -c 'On stderr it printed the same as above' <<<"$output")" = 3 ] || complain "$output"
    [ "$(grep -c '^ *hazard: ' <<<"$output")" = "$(grep -c '^ *To do: ' <<<"$output")" ] ||
        complain "A report has lost its advice:" "$output"
    # The book shows what the check's tests print without Bats: the same.
    same() { sed -E 's/process [0-9]+/process N/g; s/^make.*Error.*//' <<<"$1"; }
    said=$(LESSON=lessons/14_ipc_allocation.c CHECK_FOLDER=build/check/lessons-14_ipc_allocation \
        TAP=1 as_typed tests/tools/first_miss.sh 14_ipc_allocation |
        awk -v lesson=14 -f tests/tools/report.awk) || true
    [ "$(same "$output")" = "$(same "$said")" ] ||
        complain "With Bats (<) and without (>) the check does not print the same:" \
            "$(diff <(same "$output") <(same "$said"))"
    finish
}

@test "every starter compiles without a warning" {   # that it fails its check is in grader.bats
    local lesson
    for lesson in $(lessons); do
        run make -s program LESSON="lessons/$lesson.c" PROGRAM="$BATS_TEST_TMPDIR/program"
        [ "$status$output" = 0 ] || complain "lessons/$lesson.c: the compiler says: $output"
    done
    finish
}

@test "a program that only prints the expected lines fails every check" {
    local lesson fake
    for lesson in $(lessons); do
        fake=$BATS_TEST_TMPDIR/fake/$lesson.c
        mkdir -p "${fake%/*}"
        {
            echo '#include <stdio.h>'
            echo 'int main(void) {'
            sed 's/[\\"]/\\&/g; s/.*/    puts("&");/' "tests/lessons/expected/$lesson.txt"
            echo '    return 0; }'
        } >"$fake"
        judge "$fake" "$lesson"
        [[ "$status" != 0 && "$output" == *MISS* ]] ||
            complain "$lesson: printing the lines is enough." "$output"
        [[ "$output" != *"does not compile"* ]] ||
            complain "$lesson: the fake does not compile." "$output"
    done
    finish
}
