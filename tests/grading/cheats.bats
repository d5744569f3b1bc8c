#!/usr/bin/env bats
# Every case of attacks/cheats.txt earns what it says there, and what a file may import is what
# lessons need. What a graded process can do is in simulator/tests/unit/seal.bats.

load ../suite

setup_file() { know_compiler; }

attacks() { python3 -SB tests/grading/attacks/attacks.py "$@"; }

@test "some cheats, in the check alone" {
    CHECK_SEAL=1 run in_grader "$BATS_TEST_TMPDIR" patch_settings/08 forge_by_descriptor/17 \
        close_stderr/17 quiet_check/02 ending_function/02 remap_settings/08 loader_list/08 \
        loader_table/08 <<'PYTHON'
import os
import sys
from pathlib import Path

from attacks import case, written
from judge import judge
from manifest import lessons

for number, each in enumerate(sys.argv[2:]):
    cheat, _, wanted = each.partition("/")
    lesson = next(name for name in lessons() if name.startswith(wanted))
    file = Path(sys.argv[1], cheat, f"{lesson}.c")
    file.parent.mkdir()
    written(case(cheat), file, lesson)
    os.environ["CHECK_FOLDER"] = f"build/check/{lesson}-{cheat}"
    found = judge(lesson, str(file), first=True)
    missed = [rule["name"] for rule in found["rules"] if rule["result"] == "failed"]
    if found["status"] == "uncompiled" or not missed:
        print(f"{each}: {found['status']}, missed: {missed}")
PYTHON
    assert_success
    assert_output ""
}

# bats test_tags=more
@test "every starter and solution compiles without a warning, importing what it may" {
    local said files=(lessons/[0-9]*.c)
    # What solutions import is also held by tests/lessons.
    [ -z "${TEST_LONG:-}" ] || files+=(solutions/[0-9]*.c)
    said=$(in_grader "${files[@]}" <<'PYTHON'
import sys
from pathlib import Path
from compiler import compiled
from manifest import manifest
from place import plain
place = plain()
place.compiler.append("-Werror")
for file in sys.argv[1:]:
    lesson = Path(file).stem
    found = compiled(file, "build/check/imports", place, lesson, manifest(lesson)["imports"])
    if found.words:
        print(f"{file}: {found.words}")
PYTHON
    )
    [ -z "$said" ] || miss "$said"
}

@test "the system's headers are also those of the kernel that Debian 13 keeps in /usr/lib" {
    run in_grader <<'PYTHON'
from compiler import Compilation
from place import plain
names = ["/usr/include/errno.h", "/usr/lib/linux/uapi/x86/asm/errno.h", "/usr/lib/linux/own.h"]
print(Compilation("own.c", "build/check/own", plain()).foreign(names))
PYTHON
    assert_output own.h
}

# Compiles many files in one process, because starting it takes longer than most of them. Its
# standard input has tuples (code, sentence) of Python: the file with this code and a main is
# refused with the sentence, or compiles when the sentence is empty, or either when it is None. MINE
# stands for the file's own path and SECRET for another file's, of which no word may come back.
as_said() {
    local secret=$BATS_TEST_TMPDIR/other.c
    echo 'int their_own_answer = their_other_answer;' >"$secret"
    run in_grader "$BATS_TEST_TMPDIR/mine.c" "$secret" 4<&0 <<'PYTHON'
import ast
import os
import sys
from pathlib import Path

from compiler import compiled
from place import plain

mine, secret = sys.argv[1:]
place = plain()
for code, sentence in ast.literal_eval(f"[{os.fdopen(4).read()}]"):
    code = code.replace("SECRET", secret).replace("MINE", mine)
    Path(mine).write_text(f"{code}\nint main(void) {{ return 0; }}\n")
    words = compiled(mine, mine[:-2], place, "06_trim").words
    said = sentence is None or (sentence in words if sentence else not words)
    if not said or "their_" in words:
        print(f"{place.compiler[0]}: {code[:400]}\nexpected: {sentence}\nit says: {words}")
PYTHON
    assert_success
    assert_output ""
}

@test "what a file must not hold is named in a sentence for the student" {
    {
        cat <<'FILES'
('int open(const char *, int, ...); int f(void) { return open("x", 0); }',
    "It uses open, which lesson 06 does not need"),
('int f(void) __asm__("system"); int g(void) { return f(); }', "It uses system"),
('__attribute__((visibility("default"))) int write(void) { return 0; }',
    "It shows write to the libraries"),
('static volatile int n; __attribute__((constructor)) static void f(void) { n = 1; }',
    "code that runs before or after main (section .init_array"),
('static volatile int n; __attribute__((destructor)) static void f(void) { n = 1; }',
    "code that runs before or after main (section .fini_array"),
('__attribute__((section(".more"))) int n = 1;', "It has the section .more"),
('__attribute__((section(".init"))) int f(void) { return 0; }', "section .init)"),
("""static int f(void) { return 0; } static void *g(void) { return f; }
    int h(void) __attribute__((ifunc("g")));""", "be chosen when it is loaded"),
("""int f(int (*)(int)); int f(int (*g)(int)) { int h(int i) { return g(i); }
    int (*k)(int) = h; return f(k); }""", "a stack that can be executed"),
('char text[5000000] = "x";', "more than 4 MiB"),
("""extern void *_GLOBAL_OFFSET_TABLE_[];
    void *f(void) { return *_GLOBAL_OFFSET_TABLE_; }""", "the table of the loader"),
('extern char table[] __asm__("_GLOBAL_OFFSET_TABLE_"); char *f = table;',
    "the table of the loader"),
# The compiler's own headers are below /usr/lib, and no other file there may be included.
('#include "/usr/lib/os-release"', "It includes os-release, which no lesson needs"),
('#include <float.h>\n#include <limits.h>\n#include <stdarg.h>', ""),
# Honest students may write the following. The address of a function refers to the loader's table.
('#include <stdio.h>\nint (*f(void))(const char *, ...) { return printf; }', ""),
("int twice(int i) { return 2 * i; } int many[4];", ""),
("""#include <stdio.h>
    int f(int i) { switch (i) { case 1: return 7; case 2: return 5; case 3: return 1;
    case 4: return 8; case 5: return 9; default: return printf("%d", i); } }""", ""),
FILES
        printf '("""%s""", "symbols; that of a lesson has at most 5000."),\n' \
            "$(seq -f 'int x%.0f;' 5010)"
        printf '("""%s""", "sections; that of a lesson has at most 1000."),\n' \
            "$(seq 1010 | sed 's/.*/__attribute__((section(".data.x&"))) int x& = 1;/')"
    } >"$BATS_TEST_TMPDIR/files"
    as_said <"$BATS_TEST_TMPDIR/files"
}

@test "what is no C of the file's own reaches no assembler, and no other file is quoted" {
    local CC
    unset CHECK_COMPILER
    for CC in gcc clang; do
        type -P $CC >/dev/null || { echo "# $CC is not here" >&3; continue; }
        export CC
        sed 's/ASM$/"It has assembly (asm), which no lesson needs."),/
            s/INCLUDES$/"It includes other.c, which no lesson needs"),/
            s/EMBED$/"It has #embed, which no lesson needs."),/' <<'FILES' \
            >"$BATS_TEST_TMPDIR/files"
(r"""__asm__(".include \"SECRET\"");""", ASM
(r"""#define A __as##m__
    __asm(".incbin \"SECRET\"");""", ASM
(r"""#define JOIN(a, b) a##b
    JOIN(__as, m__)("\t.include \"SECRET\"");""", ASM
(r"""__asm__("\tnop");""", ASM
(r"""void f(void) { __asm__ volatile("nop; .include \"SECRET\""); }""", ASM
(r"""__attribute__((section(".data\n.include \"SECRET\"\n"))) int x = 1;""", ASM
(r"""__asm__(".symver f, execve@GLIBC_2.2.5"); int f(void); int g(void) { return f(); }""", ASM
(r"""__asm__("\tsyscall");""", ASM
(r"""__asm__(".globl write\nwrite: ret");""", ASM
('#line 1 "SECRET"\nint f(void) { return 1; }',
    "It names other.c by #line, which no lesson needs."),
('#include "SECRET"', INCLUDES
('#import "SECRET"', INCLUDES
('#include "SECRET"\n#error', INCLUDES
('char x[] = {\n#embed "SECRET"\n};', EMBED
('%:em\\\nbed "SECRET"', EMBED
# These are refused with other sentences, or are harmless.
('#pragma GCC target("avx2")\n#ifdef __AVX2__\n#include "SECRET"\n#endif\nint x = ;', None),
('#line 1 "SECRET"\nint x = ;', None),
('# 1 "SECRET" 1\nint x = ;', None),
(r"""#line 1 "SECRET"
    __attribute__((deprecated("a\nMINE:1:1: error: b"))) int f(void);
    int g(void) { return f() + nothing; }""", None),
('#pragma GCC dependency "SECRET"\nint x = ;', None),
(r"""_Pragma("GCC pch_preprocess \"SECRET\"") int x = ;""", None),
(r"""int f(void) __asm__("x\n.include \"SECRET\"\n"); int g(void) { return f(); }""", None),
(r"""int f(void) __attribute__((alias("g\n.include \"SECRET\"")));""", None),
(r"""#ident "a\"\n.include \"SECRET\"\n.ident \"b" """, None),
FILES
        as_said <"$BATS_TEST_TMPDIR/files"
    done
}

@test "no library calls a function of the program: main is all that its object shows" {
    local program=$BATS_TEST_TMPDIR/program
    printf '%s\n' 'int raise(int number);' 'int raise(int number) { return number; }' \
        'int main(void) { return raise(0); }' >"$program.c"
    python3 -SB tests/grading/compiler.py "$program.c" "$program" 06_trim
    run readelf --wide --symbols "$program.o"
    assert_line --regexp 'LOCAL .* raise$'
    assert_line --regexp 'GLOBAL .* main$'
    # As the compiler makes the object, raise is global, so this test would notice a missing step.
    gcc -fvisibility=hidden -c "$program.c" -o "$program.o"
    run readelf --wide --symbols "$program.o"
    assert_line --regexp 'GLOBAL .* raise$'
}

@test "the command of the book names what remains possible, and no honest file" {
    local words name
    words=$(sed -nE "s/^   \\$ grep -rlE --include='\*\.c' '(.*)' .*/\1/p" docs/teaching.rst)
    assert [ -n "$words" ]
    # A variant has the lines of the solution and those that it adds.
    run grep -lE "$words" lessons/*.c solutions/*.c tests/lessons/*/variants.txt
    assert_output ""
    for name in rewrite_journal hide_reports loader_list loader_table remap_settings; do
        attacks write "$name" "$BATS_TEST_TMPDIR/$name.c" 20_graph_memory
    done
    run grep -LE "$words" "$BATS_TEST_TMPDIR"/*.c
    assert_output ""
}

# All cheats are a class, in which each student has at most one of them for a lesson. Unchanged
# starters are graded in grader.bats.
# bats test_tags=long
@test "no cheat earns a point, or all with most of a solution; two do what the book says" {
    local chosen
    export CLASS=$BATS_TEST_TMPDIR/class OUT=$BATS_TEST_TMPDIR/out SEED=1
    mapfile -t chosen < <(attacks names cheats)
    [ "${#chosen[@]}" -gt 20 ] || miss "There are only these cheats: ${chosen[*]}"
    attacks hand-in "$CLASS" "${chosen[@]}" >"$BATS_TEST_TMPDIR/files"
    accepted tests/grading/grade.sh class batch 0 1
    run in_grader "$BATS_TEST_TMPDIR/files" "$OUT" <<'PYTHON'
import json
import sys
from pathlib import Path

from attacks import case

some = {}
for line in Path(sys.argv[1]).read_text().splitlines():
    student, name, cheat = line.split()
    grade = json.loads(Path(sys.argv[2], "students", student, "grade.json").read_text())
    lesson = next(each for each in grade["lessons"] if each["lesson"] == name)
    points, possible, sentence = (lesson[word] for word in ("points", "possible", "sentence"))
    earns, says = (case(cheat).given[word] for word in ("earns", "says"))
    # Without a sandbox a file can include another one, and the grade says so.
    hidden = cheat in ("include", "expected_at_run_time")
    if hidden and grade["sandbox"] == "none":
        continue
    if earns == "some":
        some.setdefault(cheat, []).append((points, possible))
    elif points >= possible or (earns != "less" and points) or says not in sentence:
        met = [rule["name"] for rule in lesson["tests"] if rule["result"] == "passed"]
        print(f"{cheat}: {name}: {points} of {possible}, by: {'; '.join(met)}", sentence)
# A journal that is changed in memory earns full points in no lesson, and about a quarter of all
# points. A hazard whose report is hidden earns all points of a lesson.
journal, reports = some.pop("rewrite_journal"), some.pop("hide_reports")
points, possible = map(sum, zip(*journal))
if not possible / 8 < points < possible / 3 or any(got >= of for got, of in journal):
    print("rewrite_journal:", journal)
if any(got != of for got, of in reports) or some:
    print("hide_reports:", reports, some)
PYTHON
    assert_output ""
}
