#!/usr/bin/env bats
# Every cheat of tests/cheats earns nothing, and what a file may import is what lessons need. What
# a graded process can do is in tests/simulator/seal.bats.

load ../tools/helpers

# The lessons of a cheat, by their names.
lessons_of() {
    local numbers number all
    numbers=$(sed -nE '1s/.*Lessons: ([0-9 al]+)\..*/\1/p' "tests/cheats/$1.in")
    all=$(lessons)
    for number in $numbers; do
        if [ "$number" = all ]; then echo "$all"; else grep "^${number}_" <<<"$all"; fi
    done
}

# Does the cheat do most of the work, so that only the points for the rest are missing?
has_solution() { grep -q '^@solution@' "tests/cheats/$1.in"; }

# hand_in CHEAT FOLDER: the cheat for each of its lessons, as a student's files
hand_in() {
    local lesson
    mkdir -p "$2"
    for lesson in $(lessons_of "$1"); do
        tests/cheats/cheat.sh "$1" "$lesson" "${CLASS:-}" >"$2/$lesson.c"
    done
}

# cheats NAME...: grades these, and complains of each lesson that gives points
cheats() {
    local cheat grade=$BATS_TEST_TMPDIR/grade hidden='^(include|steal_class|incbin|expected)'
    export CLASS=$BATS_TEST_TMPDIR/class
    mkdir -p "$CLASS/ada"
    cp solutions/*.c "$CLASS/ada"
    for cheat; do
        hand_in "$cheat" "$BATS_TEST_TMPDIR/$cheat"
        as_typed STUDENT="$BATS_TEST_TMPDIR/$cheat" OUT="$grade" \
            ONLY="$(lessons_of "$cheat" | tr '\n' ' ')" tests/tools/grade.sh \
            >"$BATS_TEST_TMPDIR/log" 2>&1 || complain "$cheat: $(cat "$BATS_TEST_TMPDIR/log")"
        # Without a sandbox the files of others are there to be read; the grader says so.
        if [[ $cheat =~ $hidden ]] && [ "$(jq -r .sandbox "$grade/grade.json")" = none ]; then
            echo "# $cheat: this machine has no sandbox" >&3
            continue
        fi
        complain_of "$cheat" "$grade/grade.json"
    done
    finish
}

complain_of() { # complain_of CHEAT GRADE
    local gained
    gained=$(jq -r --argjson some "$(has_solution "$1" && echo true || echo false)" '.lessons[]
        | select(if $some then .points >= .possible else .points > 0 end)
        | "\(.lesson): \(.points) of \(.possible), by: "
            + ([.tests[] | select(.result == "passed").name] | join("; "))' "$2")
    [ -z "$gained" ] || complain "$1:" "$gained"
}

@test "some cheats, in the check alone" {
    local case cheat lesson number file
    export CHECK_SEAL=1
    for case in own_getenv_visible/03 patch_settings/03 forge_by_descriptor/13 close_stderr/14 \
        quiet_check/04 ending_function/04 system_call/03; do
        cheat=${case%/*} number=${case#*/}
        lesson=$(lessons | grep "^$number")
        file=$BATS_TEST_TMPDIR/$cheat/$lesson.c
        mkdir -p "${file%/*}"
        tests/cheats/cheat.sh "$cheat" "$lesson" >"$file"
        judge "$file" "$lesson"
        [[ "$status" = 1 && "$output" == *MISS* ]] || complain "$case passes: $output"
        [[ "$output" != *"error:"* ]] || complain "$case does not compile: $output"
    done
    finish
}

@test "every starter and solution compiles without a warning, importing what it may" {
    local lesson folder
    for lesson in $(lessons); do
        for folder in lessons solutions; do
            run make -s program LESSON="$folder/$lesson.c" PROGRAM="$BATS_TEST_TMPDIR/program" \
                INSPECT="$lesson"
            [ "$status$output" = 0 ] || complain "$folder/$lesson.c: $output"
        done
    done
    finish
}

@test "what an object must not hold is named in a sentence for the student" {
    local what object=$BATS_TEST_TMPDIR/program.o
    # found CODE SENTENCE: the code beside a main
    found() {
        printf '%s\nint main(void) { return 0; }\n' "$1" >"$BATS_TEST_TMPDIR/file.c"
        run make -s program LESSON="$BATS_TEST_TMPDIR/file.c" PROGRAM="${object%.o}" INSPECT=07_trim
        if [ -z "$2" ]; then [ "$status$output" = 0 ] || complain "$1: $output"; return; fi
        [[ "$status" != 0 && "$output" == *"$2"* ]] || complain "$1: $output"
    }
    found 'int open(const char *, int, ...); int f(void) { return open("x", 0); }' "It uses open, w\
hich lesson 07 does not need"
    found 'int f(void) __asm__("system"); int g(void) { return f(); }' "It uses system"
    found '__asm__(".symver f, execve@GLIBC_2.2.5"); int f(void); int g(void) { return f(); }' \
        "It uses execve"
    found '__attribute__((visibility("default"))) int write(void) { return 0; }' "It shows write t\
o the libraries"
    found '__asm__(".globl write\nwrite: ret");' "It shows write to the libraries"
    for what in constructor/.init_array destructor/.fini_array; do
        found "static volatile int n; __attribute__((${what%/*})) static void f(void) { n = 1; }" \
            "code that runs before or after main (section ${what#*/})"
    done
    found '__asm__(".section .init\nnop\n.text");' "section .init)"
    found '__asm__(".section .more,\"awx\"\n.byte 0\n.text");' "It has the section .more"
    found '__asm__(".section \".data more\",\"awx\"\n.byte 0\n.text");' "a space in its name"
    found '__asm__(".section .data.more,\"awx\"\n.byte 0\n.text");' "can be executed"
    found 'static int f(void) { return 0; } static void *g(void) { return f; }
        int h(void) __attribute__((ifunc("g")));' "be chosen when it is loaded"
    found 'int f(int (*)(int)); int f(int (*g)(int)) { int h(int i) { return g(i); }
        int (*k)(int) = h; return f(k); }' "a stack that can be executed"
    if [ "$(uname -m)" = x86_64 ]; then
        for what in syscall sysenter "int \$0x80"; do
            found "static inline void f(void) { __asm__ volatile(\"$what\"); }
                int g(void) { f(); return 0; }" "a system-call instruction (${what%% *})"
        done
    fi
    # What an honest student may well write.
    found 'int twice(int i) { return 2 * i; } int many[4];' ""
    found '#include <stdio.h>
        int f(int i) { switch (i) { case 1: return 7; case 2: return 5; case 3: return 1;
        case 4: return 8; case 5: return 9; default: return printf("%d", i); } }' ""
    finish
}

# bats test_tags=long
@test "an unchanged starter, an empty main and printed lines earn no point" {
    cheats starter empty print_only print_and_call
}

# bats test_tags=long
@test "a solution, a neighbor or a check that is included earns no point" {
    cheats include include_absolute include_computed steal_class incbin
}

# bats test_tags=long
@test "every other cheat earns no point" {
    local file others=() else='^(starter|empty|print_.*|include.*|steal_class|incbin|rewrite_.*)$'
    for file in tests/cheats/*.in; do
        file=$(basename "$file" .in)
        [[ $file =~ $else ]] || others+=("$file")
    done
    cheats "${others[@]}"
}

# bats test_tags=long
@test "what the book calls possible is possible: the journal rewritten in memory" {
    local student=$BATS_TEST_TMPDIR/student
    hand_in rewrite_journal "$student"
    as_typed STUDENT="$student" OUT="$BATS_TEST_TMPDIR/grade" tests/tools/grade.sh
    # Of no lesson all, and of all lessons a third.
    run jq -r '(.lessons[] | select(.points >= .possible).lesson), .points > 20, .points < 40' \
        "$BATS_TEST_TMPDIR/grade/grade.json"
    assert_output $'true\ntrue'
}
