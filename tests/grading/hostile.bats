#!/usr/bin/env bats
# Lessons in a state that a check must survive, and report in words: programs that hang, flood, die
# or hide; files that are no lesson.

# bats file_tags=long

load ../suite

# A program for the first lesson that does STATEMENTS: its check misses, in words. The rest of them
# is in $output.
hostile() { # hostile NAME STATEMENTS
    local file=$BATS_TEST_TMPDIR/hostile/$1.c
    mkdir -p "${file%/*}"
    printf '%s\n' '#define _GNU_SOURCE' '#include <stdio.h>' '#include <stdlib.h>' \
        '#include <signal.h>' '#include <unistd.h>' '#include <cuda_runtime_api.h>' \
        'int main(void) {' '    cudaDeviceSynchronize();' "$2" '    return 0;' '}' >"$file"
    ALL=1 check "$file" "$FIRST"
    [ "$status" != 0 ] || miss "The check passes a program that does: $2" "$output"
    [[ "$output" == *MISS* ]] || miss "There is no miss in words:" "$output"
}

@test "a program that never ends is stopped and told so, once" {
    export CHECK_SECONDS=1
    hostile loop 'for (;;) ;'
    assert_output --partial "did not end within 1 seconds"
    assert_equal "$(grep -c MISS <<<"$output")" 1
}

# run_for_a_second STATEMENTS [COMMAND...]: a program with a second, run as a check does it. COMMAND
# stands before the command. $ended has the status and why the program was stopped.
run_for_a_second() {
    cd "$BATS_TEST_TMPDIR" || return 1
    printf '%s\n' '#include <time.h>' '#include <unistd.h>' "int main(void) { $1 }" >slow.c
    gcc -o slow slow.c
    rm -rf run && mkdir run
    CHECK_SECONDS=1 RUN_BY="${*:2}" run_program '{}' run -- "$BATS_TEST_TMPDIR/slow"
    ended="$status $ended"
}

@test "a program that sleeps, or starts others without end, is stopped" {
    run_for_a_second 'for (;;) pause();'
    assert_equal "$ended" "152 time"   # of SIGXCPU, at which the simulated device names a line
    run_for_a_second 'for (;;) if (fork() == 0) _exit(0);'
    assert_regex "$ended" "time$"
}

@test "a program that is kept from the processor is not stopped" {
    local beside
    # On one processor it gets a tenth beside a program that is more important.
    busy taskset -c 0 &
    beside=$!
    run_for_a_second 'while (clock() < CLOCKS_PER_SEC * 4 / 10) ;' taskset -c 0 nice -n 10
    kill "$beside"
    assert_equal "$ended" "0 "
}

# size_of FILE: how many bytes the run that floods the disk has left in it
size_of() { stat -c %s "build/check/hostile-flood/run/$1"; }

@test "a program that prints or calls without end is stopped and told so; its files are cut off" {
    hostile flood 'for (;;) puts("abc");'
    assert_output --partial "printed too much"
    assert_equal "$(size_of stdout)" $((65536 * 1024 + 1))
    hostile flood 'for (;;) cudaGetLastError();'
    assert_output --regexp "most frequent is[[:space:]]+cudaGetLastError, [0-9]+ times"
    assert_equal "$(size_of journal.jsonl)" $((16384 * 1024 + 1))
}

@test "a program that dies of a signal, leaves by _Exit or prints a hazard is told so" {
    local statements words
    while IFS='|' read -r statements words; do
        hostile ended "$statements"
        assert_output --partial "$words"
    done <<'END'
*(volatile int *)0 = 1;|SIGSEGV
abort();|SIGABRT
volatile int zero = 0; return 7 / zero;|SIGFPE
puts("hello"); fflush(stdout); _Exit(0);|it left in another way: its journal has no last line.
fputs("hazard: made up\n", stderr); return 3;|hazard: made up
END
}

# What is printed is judged when the calls are correct: the first lesson's solution, with LINE
# before its function main, and STATEMENTS at its begin.
prints() { # prints NAME STATEMENTS [LINE]
    local file=$BATS_TEST_TMPDIR/$1.c
    sed "s/^#include \"workbook.h\"/&\n${3:-}/; /^int main(/,/^{/s/^{/{ $2/" \
        "solutions/$FIRST.c" >"$file"
    check "$file" "$FIRST"
    [ "$status" != 0 ] || miss "The check passes a program that does: $2" "$output"
}

@test "a program that prints nothing, NUL bytes or no line end is told which line differs" {
    prints silent '' '#define printf(...) ((void)0)'
    assert_output --partial "stdout is empty"
    prints nul 'putchar(0);'
    assert_output --partial "a NUL byte in line 1"
    prints nul_beside_a_line 'putchar(0); puts("hello");'   # another line alone costs nothing
    assert_output --partial "a NUL byte in line 1"
    prints endless_line 'for (int i = 0; i < 100000; i++) putchar(7);'
    assert_output --partial "Line 1 of the output differs"
}

# A check refuses a program that uses what its lesson does not need, and never runs it. Lessons of
# two processes need fork and read, so the programs of these tests go to run.py itself.
@test "what a program starts, and keeps its output open, ends with it" {
    run_for_a_second 'if (fork() == 0) for (;;) pause(); return 0;'
    assert_equal "$ended" "0 "
    # It is killed, and about to end.
    for _ in {1..100}; do
        grep -qs "$BATS_TEST_TMPDIR/slo[w]" /proc/[0-9]*/cmdline || return 0
        sleep 0.1
    done
    miss "What the program has started goes on."
}

@test "a link or a folder in the place of a file of the run's is not taken for one" {
    run_for_a_second 'int mkdir(const char *, unsigned); mkdir("status", 0700);
        symlink("/etc/passwd", "journal.jsonl.1"); return 0;'
    assert_equal "$ended" "0 "
    run find run ! -type d ! -type f
    assert_output ""
}

@test "a program that reads its input finds none, and does not wait for it" {
    run_for_a_second 'char c; return read(0, &c, 1) > 0;' < <(exec sleep 60 3>&- 4>&-)
    assert_equal "$ended" "0 "
}

@test "a lesson that was deleted, renamed, broken or holds a NUL byte: one sentence says so" {
    local number
    number=${FIRST%%_*}
    workbook_copy "$BATS_TEST_TMPDIR/copy"
    cd "$BATS_TEST_TMPDIR/copy" || return 1
    try() { # try SENTENCE: make NN and make check-NN both say it
        refused "$1" make "$number"
        refused "$1" make "check-$number"
        refute_output --partial "in test file"
    }
    as_typed make "$number" >/dev/null 2>&1 || true   # an old program must not hide what follows
    mv "lessons/$FIRST.c" "lessons/${number}_renamed.c"
    try "lessons/$FIRST.c does not exist"
    rm "lessons/${number}_renamed.c"
    try "lessons/$FIRST.c does not exist"
    echo 'int main(void) { return x; }' >"lessons/$FIRST.c"
    try "lessons/$FIRST.c does not compile"
    printf 'int main(void) { return 0; }\0\n' >"lessons/$FIRST.c"
    try "lessons/$FIRST.c contains a NUL byte"
    : >"lessons/$FIRST.c"
    try "lessons/$FIRST.c is empty. Save it in your editor first."
    rm "lessons/$FIRST.c" && mkdir "lessons/$FIRST.c"
    try "lessons/$FIRST.c is a folder"
}
