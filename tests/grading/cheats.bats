#!/usr/bin/env bats
# Every cheat of attacks/cheats earns nothing, and what a file may import is what lessons need. What
# a graded process can do is in simulator/tests/unit/seal.bats.

load ../suite

setup_file() {
    know_machine
    know_compiler
}

# The lessons of a cheat, by their names.
lessons_of() {
    local numbers number all
    numbers=$(sed -nE '1s/.*Lessons: ([0-9 al]+)\..*/\1/p' "tests/grading/attacks/cheats/$1.in")
    all=$(lessons)
    for number in $numbers; do
        if [ "$number" = all ]; then echo "$all"; else grep "^${number}_" <<<"$all"; fi
    done
}

# Does the cheat do most of the work, so that only the points for the rest are missing?
has_solution() { grep -q '^@solution@' "tests/grading/attacks/cheats/$1.in"; }

# hand_in CHEAT FOLDER: the cheat for each of its lessons, as a student's files
hand_in() {
    local lesson
    mkdir -p "$2"
    for lesson in $(lessons_of "$1"); do
        tests/grading/attacks/cheats/cheat.sh "$1" "$lesson" "${CLASS:-}" >"$2/$lesson.c"
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
        as_typed GRADE_PROTECTED="$KNOWN" STUDENT="$BATS_TEST_TMPDIR/$cheat" OUT="$grade" \
            ONLY="$(lessons_of "$cheat" | tr '\n' ' ')" tests/grading/grade.sh \
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
    [ -z "${TEST_LONG:-}" ] || skip "every cheat is graded below"
    export CHECK_SEAL=1
    for case in own_getenv_visible/08 patch_settings/08 forge_by_descriptor/16 close_stderr/17 \
        quiet_check/02 ending_function/02 system_call/08 many_symbols/08 versioned_getenv/08 \
        remap_settings/08 loader_list/08 loader_table/08; do
        cheat=${case%/*} number=${case#*/}
        lesson=$(lessons | grep "^$number")
        file=$BATS_TEST_TMPDIR/$cheat/$lesson.c
        mkdir -p "${file%/*}"
        tests/grading/attacks/cheats/cheat.sh "$cheat" "$lesson" >"$file"
        judge "$file" "$lesson"
        [[ "$status" = 1 && "$output" == *MISS* ]] || complain "$case passes: $output"
        [[ "$output" != *"error:"* ]] || complain "$case does not compile: $output"
    done
    finish
}

@test "every starter and solution compiles without a warning, importing what it may" {
    local lesson folder compiler object=$BATS_TEST_TMPDIR/program.o
    mapfile -t compiler <<<"$CHECK_COMPILER"
    for lesson in $(lessons); do
        for folder in lessons solutions; do
            # What object.sh does before it links; a make for each took a quarter of the time.
            run "${compiler[@]}" -fvisibility=hidden -c "$folder/$lesson.c" -o "$object"
            [ "$status$output" = 0 ] || complain "$folder/$lesson.c: $output"
            # shellcheck disable=SC2046  # names
            run "$BASH" tests/grading/inspect.sh "$lesson" \
                $(sed -n 's/^imports = //p' "tests/lessons/$lesson/manifest.ini") "$object"
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
        run make -s program LESSON="$BATS_TEST_TMPDIR/file.c" PROGRAM="${object%.o}" INSPECT=06_trim
        if [ -z "$2" ]; then [ "$status$output" = 0 ] || complain "$1: $output"; return; fi
        [[ "$status" != 0 && "$output" == *"$2"* ]] || complain "$1: $output"
    }
    found 'int open(const char *, int, ...); int f(void) { return open("x", 0); }' "It uses open, w\
hich lesson 06 does not need"
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
    # However many stand before it in the table of symbols, and however large the object is.
    found '__asm__(".macro m\nx\\@:\n.endm\n.rept 4500\nm\n.endr\n.globl write\nwrite: ret");' \
        "It shows write to the libraries"
    found '__asm__(".macro m\nx\\@:\n.endm\n.rept 100010\nm\n.endr\n.globl write\nwrite: ret");' \
        "symbols; that of a lesson has at most 5000."
    found '__asm__(".macro m\n.section .x\\@,\"ax\"\n.endm\n.rept 2000\nm\n.endr\n.text");' \
        "sections; that of a lesson has at most 1000."
    found '__asm__(".fill 5000000, 1, 0x90");' "more than 4 MiB"
    found 'extern void *_GLOBAL_OFFSET_TABLE_[]; void *f(void) { return *_GLOBAL_OFFSET_TABLE_; }' \
        "the table of the loader"
    found 'extern char table[] __asm__("_GLOBAL_OFFSET_TABLE_"); char *f = table;' \
        "the table of the loader"
    if [ "$(uname -m)" = x86_64 ]; then
        for what in syscall sysenter "int \$0x80"; do
            found "static inline void f(void) { __asm__ volatile(\"$what\"); }
                int g(void) { f(); return 0; }" "a system-call instruction (${what%% *})"
        done
    fi
    # The compiler's own headers are in a folder of /usr/lib, and nothing else of that is included.
    found '#include "/usr/lib/os-release"' "It includes os-release, which no lesson needs"
    found '#include <float.h>
        #include <limits.h>
        #include <stdarg.h>' ""
    # What an honest student may well write. The address of a function names the loader's table.
    found '#include <stdio.h>
        int (*f(void))(const char *, ...) { return printf; }' ""
    found 'int twice(int i) { return 2 * i; } int many[4];' ""
    found '#include <stdio.h>
        int f(int i) { switch (i) { case 1: return 7; case 2: return 5; case 3: return 1;
        case 4: return 8; case 5: return 9; default: return printf("%d", i); } }' ""
    finish
}

@test "no library calls a function of the program: main is all that its object shows" {
    local program=$BATS_TEST_TMPDIR/program
    printf '%s\n' 'int raise(int number);' 'int raise(int number) { return number; }' \
        'int main(void) { return raise(0); }' >"$program.c"
    make -s program LESSON="$program.c" PROGRAM="$program" INSPECT=06_trim
    run readelf --wide --symbols "$program.o"
    assert_line --regexp 'LOCAL .* raise$'
    assert_line --regexp 'GLOBAL .* main$'
    # Without the inspection it is as the compiler makes it: the test would notice.
    make -s program LESSON="$program.c" PROGRAM="$program"
    run readelf --wide --symbols "$program.o"
    assert_line --regexp 'GLOBAL .* raise$'
}

@test "the command of the book names what remains possible, and no honest file" {
    local words
    words=$(sed -nE "s/^   \\$ grep -rlE --include='\*\.c' '(.*)' .*/\1/p" docs/teaching.rst)
    assert [ -n "$words" ]
    # A variant has the lines of the solution and those that it adds.
    run grep -lE "$words" lessons/*.c solutions/*.c tests/lessons/*/variants.txt
    assert_output ""
    run grep -LE "$words" \
        tests/grading/attacks/cheats/{rewrite_journal,hide_reports,loader_*,remap_*}.in
    assert_output ""
}

# Unchanged starters: grader.bats. Printed lines for each lesson: checks.bats.
# bats test_tags=long
@test "an empty main and printed lines earn no point" {
    cheats empty print_only print_and_call
}

# bats test_tags=long
@test "a solution, a neighbor or a check that is included earns no point" {
    cheats include include_absolute include_computed steal_class incbin
}

# bats test_tags=long
@test "every other cheat earns no point" {
    local file others=()
    local else='^(starter|empty|print_.*|include.*|steal_class|incbin|rewrite_.*|hide_.*)$'
    for file in tests/grading/attacks/cheats/*.in; do
        file=$(basename "$file" .in)
        [[ $file =~ $else ]] || others+=("$file")
    done
    cheats "${others[@]}"
}

# bats test_tags=long
@test "what the book calls possible is possible: the journal or the reports changed in memory" {
    local student=$BATS_TEST_TMPDIR/student
    export GRADE_PROTECTED=$KNOWN
    hand_in rewrite_journal "$student"
    as_typed STUDENT="$student" OUT="$BATS_TEST_TMPDIR/grade" tests/grading/grade.sh
    # Of no lesson all, and of all lessons about a fifth.
    run jq -r '(.lessons[] | select(.points >= .possible).lesson),
        .points > .possible / 8, .points < .possible / 3' \
        "$BATS_TEST_TMPDIR/grade/grade.json"
    assert_output $'true\ntrue'
    # A hazard that is not reported: all of a lesson.
    hand_in hide_reports "$student"
    as_typed STUDENT="$student" OUT="$BATS_TEST_TMPDIR/grade" ONLY=20 tests/grading/grade.sh
    assert_equal "$(jq '.points == .possible' "$BATS_TEST_TMPDIR/grade/grade.json")" true
}
