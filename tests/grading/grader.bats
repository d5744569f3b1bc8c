#!/usr/bin/env bats
# The grader: what it gives to correct, incorrect and odd files, what it writes, and make watch. The
# checks themselves are tested in checks.bats and mutants.bats. One test grades every lesson, the
# others a few.

# bats file_tags=long
load ../suite

setup_file() {
    export GRADES=$BATS_FILE_TMPDIR STARTERS=$BATS_FILE_TMPDIR/starters
    export MIXED=$BATS_FILE_TMPDIR/"a \"student's\" \$HOME"
    know_machine
    as_typed OUT="$STARTERS" make grade >"$GRADES/starters.out" 2>&1 ||
        echo "make grade ended with status $?." >>"$GRADES/starters.out"

    # One student who did one of everything.
    mkdir -p "$MIXED/lessons"
    cp "solutions/$FIRST.c" tests/grading/grade.sh "$MIXED/lessons"
    make -s build/mutants/02_default_pool/extra_segment_on_exact_fit.c
    cp build/mutants/02_default_pool/extra_segment_on_exact_fit.c "$MIXED/lessons/02_default_pool.c"
    echo 'int main(void) { return absent; }' >"$MIXED/lessons/03_custom_pool.c"
    printf 'int main(void) { return 0; }\0' >"$MIXED/lessons/04_release_threshold.c"
    {
        printf '%s\n' '#include <stdio.h>' 'int main(void) {'
        sed 's/[\\"]/\\&/g; s/.*/    puts("&");/' tests/lessons/06_trim/expected/output.txt
        echo 'return 0; }'
    } >"$MIXED/lessons/06_trim.c"
    ln -s "$ROOT/solutions/07_statistics.c" "$MIXED/lessons/07_statistics.c"
    printf '%s\n' '#include <stdlib.h>' 'int main(void) { return getenv("SIM_JOURNAL") == 0; }' \
        >"$MIXED/lessons/10_reuse_events.c"
    find "$MIXED" -type f -exec sha256sum {} + | sort >"$GRADES/before"
    export CHOSEN="${FIRST%%_*} 8 02 03 04 06_trim 07 10"
    # Other test files grade in build/check at the same time.
    mkdir -p build/check/mixed
    as_typed GRADE_FOLDER=build/check/mixed STUDENT="$MIXED" OUT="$GRADES/mixed" ONLY="$CHOSEN" \
        make grade \
        >"$GRADES/mixed.out" 2>&1 ||
        echo "make grade ended with status $?." >>"$GRADES/mixed.out"
}

# of_lesson NAME JQ: about that lesson of the mixed grade
of_lesson() {
    jq -r --arg name "$1" ".lessons[] | select(.lesson == \$name) | $2" "$GRADES/mixed/grade.json"
}

# given LESSON: the sentences of the rules that its check marks with @met_by_starter
given() {
    in_grader "$1" <<'PYTHON'
import sys
from judge import load_rules
for rule in load_rules(sys.argv[1]):
    if hasattr(rule, "met_by_starter"):
        print(rule.sentence)
PYTHON
}

@test "every starter gets 0 of some points, and meets the rules that are marked so" {
    local lesson
    refute [ -n "$(grep 'ended with status' "$GRADES/starters.out")" ]
    assert_equal "$(jq -r '.lessons[].lesson' "$STARTERS/grade.json")" "$(lessons)"
    for lesson in $(lessons); do
        run jq -r --arg name "$lesson" '.lessons[] | select(.lesson == $name).tests[]
            | select(.result == "passed").name' "$STARTERS/grade.json"
        [ "$output" = "$(given "$lesson")" ] || complain \
            "$lesson: the starter meets these rules, of which @met_by_starter has to name all:" \
            "$output"
        grep -qE "^$lesson +0 of +[1-9]" "$GRADES/starters.out" ||
            complain "The table lacks $lesson." "$(cat "$GRADES/starters.out")"
    done
    finish
    assert_equal "$(jq -r '.lessons[]
        | select(.points != 0 or .possible <= 0 or .status != "graded" or .sentence == null)
        | .lesson' "$STARTERS/grade.json")" ""
}

@test "the table has 100 columns, and no sentence is cut: its rows go on below it" {
    local sentence
    run grep -E '.{101}|\.\.\.$' "$GRADES/starters.out"
    assert_output ""
    sentence=$(jq -r '.lessons[] | select(.lesson == "08_stream_order").sentence
        | split(" Happened: ")[0]' "$STARTERS/grade.json")
    assert_equal "$(awk '/^[^ ]/ { on = /^08_/; sub(/^[^ ]+ +[0-9.]+ of +[0-9]+/, "") } on' \
        "$GRADES/starters.out" | tr -s ' \n' ' ')" " $sentence "
    # A sentence that grade.json cuts off ends with a whole word.
    run python3 -SB -c 'import sys
sys.path.insert(0, "tests/grading")
from forms import sentence
print(sentence([" ".join(f"word{i}" for i in range(90))]))'
    assert [ "${#output}" -le 500 ]
    assert_regex "$output" ' word[0-9]+\.\.\.$'
}

@test "a solution gets all points, a mutant some, who only prints or hands in no program, none" {
    local lesson
    refute [ -n "$(grep 'ended with status' "$GRADES/mixed.out")" ]
    run of_lesson "$FIRST" '.points == .possible and .possible > 0 and .sentence == null'
    assert_output true
    assert_equal "$(of_lesson 02_default_pool '.points > 0 and .points < .possible')" true
    for lesson in 08_stream_order 03_custom_pool 04_release_threshold 06_trim 07_statistics \
        10_reuse_events; do
        run of_lesson $lesson '"\(.lesson): \(.points == 0) \(.possible > 0)"'
        assert_output "$lesson: true true"
    done
    run of_lesson 08_stream_order '.status, .sentence'
    assert_output $'missing\nlessons/08_stream_order.c does not exist.'
    # No rule judges a file that is no program, so it misses none, and its status says why.
    run of_lesson 03_custom_pool '.status, .sentence, .tests[0].name, .tests[0].lines[2],
        ([.tests[] | select(.result == "failed")] | length),
        (.tests[1:] | all(.result == "skipped"))'
    assert_output "uncompiled
lessons/03_custom_pool.c:1:25: error: ‘absent’ undeclared (first use in this function)
the file compiles
    1 | int main(void) { return absent; }
1
true"
    [[ "$(of_lesson 04_release_threshold '.status + .sentence')" == "uncompiled"*"NUL byte"* ]]
    [[ "$(of_lesson 06_trim .sentence)" == *"the program made no CUDA call at all"* ]]
    [[ "$(of_lesson 07_statistics '.status + .sentence')" == "refused"*"symbolic link"* ]]
    [[ "$(of_lesson 10_reuse_events '.status + .sentence')" == "refused"*getenv* ]]
}

@test "the student's folder and the workbook are as they were, and nothing is left in build/check" {
    assert_equal "$(find "$MIXED" -type f -exec sha256sum {} + | sort)" "$(cat "$GRADES/before")"
    run ls -A build/check/mixed
    assert_output ""
    run git status --porcelain
    refute_output --partial build
}

@test "grade.json is what docs/teaching.rst says it is" {
    local file
    for file in "$STARTERS/grade.json" "$GRADES/mixed/grade.json"; do
        run jq -e '
            def text: type == "string";
            def count: type == "number" and . >= 0 and . == floor;
            def halves: type == "number" and (. * 2 | count);
            def sum: type == "string" and test("^[0-9a-f]{64}$");
            keys == ["folder", "lessons", "not_promised", "points", "possible", "sandbox", "seed",
                "workbook"] and .folder == "lessons"
            and (.workbook | keys == ["checks", "commit"] and (.checks | sum) and (.commit | text))
            and (.sandbox | IN("bubblewrap", "none")) and .seed == 1
            and all(.not_promised[]; text)
            and .points == ([.lessons[].points] | add)
            and .possible == ([.lessons[].possible] | add)
            and all(.lessons[];
                keys == ["file", "given", "lesson", "points", "possible", "seed", "sentence",
                    "status", "tests", "waiting"]
                and (.lesson | text) and (.points | halves) and (.possible | count)
                and .points <= .possible and (.given | count)
                and .waiting == ([.tests[] | select(.result == "skipped")] | length)
                and (.file == null) == (.seed == null) and (.seed == null or (.seed | count))
                and (.status | IN("graded", "missing", "refused", "uncompiled", "ungraded"))
                and (.file == null or (.file | sum))
                and (.sentence == null or (.sentence | text and . != "" and length <= 500))
                and (.sentence == null) == (.points == .possible)
                and all(.tests[]; keys == ["given", "lines", "name", "result"]
                    and (.name | text) and (.given | type == "boolean")
                    and (.result | IN("passed", "failed", "skipped"))
                    and all(.lines[]; text)))' "$file"
        assert_output true
    done
    run grep -F "$ROOT" "$GRADES/mixed/grade.json"
    assert_output ""
    run grep -E 'build/check' "$GRADES/mixed/grade.json"
    assert_output ""
}

@test "Gradescope, PrairieLearn and JUnit agree with grade.json" {
    local points possible tests failures
    cd "$GRADES/mixed" || return 1
    points=$(jq .points grade.json)
    possible=$(jq .possible grade.json)
    run jq -c '[.score, ([.tests[].score] | add), ([.tests[].max_score] | add),
        all(.tests[]; .visibility == "visible" and (.name | length > 0)
            and (.output | type == "string"))]' gradescope/results.json
    assert_output "[$points,$points,$possible,true]"
    run jq -c '([.tests[].max_points] | add) as $all
        | [.gradable, ([.tests[].points] | add), $all,
            (.score * $all * 2 + 0.5 | floor / 2)]' \
        prairielearn/results.json
    assert_output "[true,$points,$possible,$points]"
    jq -e '.score >= 0 and .score <= 1' prairielearn/results.json
    tests=$(jq '[.lessons[] | .tests | if . == [] then 1 else length end] | add' grade.json)
    failures=$(jq '[.lessons[].tests[] | select(.result == "failed")] | length' grade.json)
    run python3 -SB - <<'END'
import xml.etree.ElementTree as tree
root = tree.parse("junit.xml").getroot()
cases = list(root.iter("testcase"))
assert root.tag == "testsuites" and all(suite.tag == "testsuite" for suite in root)
assert int(root.get("tests")) == len(cases) == sum(int(suite.get("tests")) for suite in root)
assert int(root.get("failures")) == len(list(root.iter("failure"))), root.attrib
assert int(root.get("errors")) == len(list(root.iter("error")))
assert sum(int(suite.get("skipped")) for suite in root) == len(list(root.iter("skipped")))
print(len(cases), root.get("failures"))
END
    assert_output "$tests $failures"
}

@test "a check without a rule, a manifest without a title or a part: status 2, no points" {
    in_copy grading
    echo 'from check import miss' >"tests/lessons/$FIRST/check.py"
    sed -i '/^part = /d' tests/lessons/06_trim/manifest.ini
    sed -i '/^title = /d' tests/lessons/03_custom_pool/manifest.ini
    rm lessons/04*.c
    refused "The check of $FIRST failed: tests/lessons/$FIRST/check.py has no test_" \
        ONLY="${FIRST%%_*} 03 04 06" tests/grading/grade.sh
    assert_line --partial "tests/lessons/06_trim/manifest.ini has no part."
    assert_line --partial "tests/lessons/03_custom_pool/manifest.ini has no title."
    assert_line --regexp "^04_release_threshold +0 of +[1-9]"
    run jq -r '.lessons[] | select(.status == "ungraded") | .lesson' build/grade/grade.json
    assert_output "$FIRST"$'\n03_custom_pool\n06_trim'
    run jq -c '[.gradable, (.format_errors | length)]' build/grade/prairielearn/results.json
    assert_output "[false,3]"
    run grep -c '<error ' build/grade/junit.xml
    assert [ "$output" -ge 1 ]
}

@test "without Python, a compiler or such a lesson: a sentence, no grade, no older one is left" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s /usr/bin/* "$BATS_TEST_TMPDIR/bin"
    rm "$BATS_TEST_TMPDIR"/bin/python3*
    export OUT=$BATS_TEST_TMPDIR/out
    refused "python3 is not installed" PATH="$BATS_TEST_TMPDIR/bin" tests/grading/grade.sh
    mkdir -p "$OUT" && echo old >"$OUT/grade.json"
    refused "A program that is known to be correct could not be compiled" \
        CC=/not/there tests/grading/grade.sh
    assert_output --partial "/not/there"
    assert_file_not_exists "$OUT/grade.json"
    refused "there is no lesson 99. The lessons are 01 to 22;" ONLY="1 99" tests/grading/grade.sh
    refused "STUDENT=/not/there: there is no such folder, and no such ZIP file." \
        STUDENT=/not/there tests/grading/grade.sh
    refused "is a file: STUDENT=solutions ONLY=02 grades its folder." \
        STUDENT=solutions/02_default_pool.c tests/grading/grade.sh
    ln -s loop "$BATS_TEST_TMPDIR/loop"
    mkfifo "$BATS_TEST_TMPDIR/pipe.c"
    for student in README.md "$BATS_TEST_TMPDIR"/{loop,pipe.c}; do
        refused "STUDENT=$student: this is neither a ZIP file nor a folder." \
            STUDENT="$student" tests/grading/grade.sh
    done
    # A check does not wait for a pipe, nor follow a link without end.
    run timeout 60 bash tools/check.sh "$FIRST" "$BATS_TEST_TMPDIR/pipe.c"
    assert_failure 1
    assert_line --partial "pipe.c is no file that keeps text, but a pipe"
    run bash tools/check.sh "$FIRST" "$BATS_TEST_TMPDIR/loop"
    assert_line --partial "loop is a link that leads to no file."
}

@test "a wrong setting of a grading is named, and nothing is graded with it" {
    local wrong
    export OUT=$BATS_TEST_TMPDIR/out
    for wrong in CHECK_SECONDS=x CHECK_PROCESSES=-1 CHECK_KILOBYTES=0 CHECK_WAITING=2 \
        CHECK_WAITING=half SANDBOX=off; do
        refused "$wrong: " "$wrong" tests/grading/grade.sh
        assert_output --regexp "^$wrong: (expected a (whole )?number from|the only word is none)"
    done
    assert_file_not_exists "$OUT/grade.json"
    refused "CHECK_SECONDS=x: expected a whole number from 1 to 999999999." \
        CHECK_SECONDS=x python3 -SB tests/grading/judge.py 01_first_allocation
}

@test "files one folder too deep are found, and files under other names are named" {
    local student=$BATS_TEST_TMPDIR/student deep
    export ONLY="8 6" STUDENT=$student OUT=$BATS_TEST_TMPDIR/out GRADE_PROTECTED=$KNOWN
    # handed_in SENTENCE FOLDER: what the table says of lesson 6, and where the files were found
    handed_in() {
        accepted tests/grading/grade.sh
        [ -z "$3" ] || assert_line "STUDENT=$student: $3"
        assert_equal "$(jq -r .folder "$OUT/grade.json")" "$2"
        assert_equal "$(jq -r '.lessons[1].sentence' "$OUT/grade.json")" "$1"
        assert_equal "$(jq -r '.lessons[0].points' "$OUT/grade.json")" \
            "${4:-$(possible 08_stream_order)}"
    }
    deep=$student/pools-main
    mkdir -p "$deep"/{lessons,solutions} "$student/__MACOSX/lessons"
    # An unpacked archive of the whole repository has the names of the lessons twice.
    cp solutions/08_stream_order.c "$deep/lessons"
    cp lessons/{08_stream_order,06_trim}.c "$deep/solutions"
    cp lessons/08_stream_order.c "$student/__MACOSX/lessons"
    handed_in "lessons/06_trim.c does not exist." pools-main/lessons \
        "its files are in pools-main/lessons."
    [[ $(xargs <<<"$output") == \
        *" of $(possible 06_trim) No file 06_trim.c in $deep/lessons. points "* ]]
    assert_line '1 missing. ONLY="08" grades the rest.'
    assert_line "08 is the published solution."
    assert_line "The whole grade: $OUT/grade.json"
    # The folder lessons/ is empty, and the files are next to it.
    rm -rf "$student" && mkdir -p "$student/lessons"
    cp solutions/08_stream_order.c "$student"
    handed_in "06_trim.c does not exist." . ""
    before=$(stat -c '%i %.Y' "$OUT/grade.json")
    RESUME=1 handed_in "06_trim.c does not exist." . ""
    assert_equal "$(stat -c '%i %.Y' "$OUT/grade.json")" "$before"
    # A file under another name changes the sentence, so RESUME=1 grades again.
    cp solutions/06_trim.c "$student/lessons/06-Trim (1).C"
    RESUME=1 handed_in \
        '06_trim.c does not exist, but "06-Trim (1).C" does: name it 06_trim.c.' . ""
    rm "$student/08_stream_order.c"
    cp solutions/08_stream_order.c "$student/08_stream_order.c.txt"
    handed_in '06_trim.c does not exist, but "06-Trim (1).C" does: name it 06_trim.c.' . \
        "it has no file with a lesson's name." 0
    # In an empty folder no lesson is named.
    mkdir "$BATS_TEST_TMPDIR/empty"
    accepted STUDENT="$BATS_TEST_TMPDIR/empty" tests/grading/grade.sh
    assert_line --partial "/empty: nothing was handed in: it has no file with a lesson's name."
    refute_output --partial "No file"
    assert_line --partial "points"
    # With files in two folders, nothing is graded: 0 points would be wrong.
    mkdir "$student"/{one,two}
    cp solutions/08_stream_order.c "$student/one"
    cp solutions/08_stream_order.c "$student/two"
    rm -r "$student/lessons"
    refused "STUDENT=$student: several folders have files with lessons' names, so nothing was \
graded: one, two. Name one: STUDENT=$student/one" tests/grading/grade.sh
    # An archive that is none of ZIP's is named.
    rm -r "${student:?}"/*
    mkdir "$student/in here"
    : >"$student/in here/my lessons.7Z"
    handed_in '06_trim.c does not exist. There is an archive, "in here/my lessons.7Z": '\
'unpack it.' . 'There is an archive, "in here/my lessons.7Z": unpack it.' 0
}

@test "SEED=draw draws, and that number repeats the grade; each file draws its own; ONLY says so" {
    local seed
    export STUDENT=solutions ONLY="2 02" GRADE_PROTECTED=$KNOWN # one lesson
    OUT=$BATS_TEST_TMPDIR/drawn SEED="draw" accepted tests/grading/grade.sh
    assert_line --regexp "^points .*   for 1 of the [0-9]+ lessons$"
    seed=$(jq .seed "$BATS_TEST_TMPDIR/drawn/grade.json")
    # Another grading draws another of a thousand million numbers.
    OUT=$BATS_TEST_TMPDIR/other SEED="draw" accepted tests/grading/grade.sh
    refute [ "$seed" = "$(jq .seed "$BATS_TEST_TMPDIR/other/grade.json")" ]
    OUT=$BATS_TEST_TMPDIR/again SEED=$seed accepted tests/grading/grade.sh
    diff -r "$BATS_TEST_TMPDIR/drawn" "$BATS_TEST_TMPDIR/again"
    OUT=$BATS_TEST_TMPDIR/plain accepted tests/grading/grade.sh
    assert_equal "$(jq .seed "$BATS_TEST_TMPDIR/plain/grade.json")" 1
    refused "SEED=dice: give a whole number with at most nine digits, or draw." \
        SEED=dice tests/grading/grade.sh
    # Another file is judged with another seed, so a table of answers is none for the file that
    # has it.
    mkdir "$BATS_TEST_TMPDIR"/{table,longer}
    cp solutions/02_default_pool.c "$BATS_TEST_TMPDIR/longer"
    echo "/* longer */" >>"$BATS_TEST_TMPDIR/longer/02_default_pool.c"
    OUT=$BATS_TEST_TMPDIR/longer.out STUDENT=$BATS_TEST_TMPDIR/longer \
        accepted tests/grading/grade.sh
    refute [ "$(jq .lessons[0].seed "$BATS_TEST_TMPDIR/longer.out/grade.json")" = \
        "$(jq .lessons[0].seed "$BATS_TEST_TMPDIR/plain/grade.json")" ]
    seed=$(jq .lessons[0].seed "$BATS_TEST_TMPDIR/plain/grade.json")
    TABLE_SEED=$seed python3 -SB tests/grading/attacks/attacks.py write table_of_one_seed \
        "$BATS_TEST_TMPDIR/table/02_default_pool.c" 02_default_pool
    OUT=$BATS_TEST_TMPDIR/table.out STUDENT=$BATS_TEST_TMPDIR/table accepted tests/grading/grade.sh
    assert_equal "$(jq '.points < .possible' "$BATS_TEST_TMPDIR/table.out/grade.json")" true
    # With the seed of the table it would be a solution.
    accepted SEED="$seed" CHECK_FOLDER=build/check/table.$BASHPID python3 -SB \
        tests/grading/judge.py 02_default_pool "$BATS_TEST_TMPDIR/table/02_default_pool.c"
    # No student sees a seed.
    run grep -rlE "\b$seed\b" "$BATS_TEST_TMPDIR/plain" --exclude=grade.json
    assert_output ""
}

@test "a grading that is stopped leaves nothing behind and writes no grade" {
    local student=$BATS_TEST_TMPDIR/student grading
    mkdir -p "$student"
    cat >"$student/$FIRST.c" <<'END'
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    cudaDeviceSynchronize();
    puts("runs");
    fflush(stdout);
    for (;;)
        sleep(1);
}
END
    as_typed CHECK_SECONDS=60 STUDENT="$student" OUT="$BATS_TEST_TMPDIR/out" ONLY="$FIRST" \
        bash -c 'echo $$ >"$OUT.pid"; exec tests/grading/grade.sh' >"$BATS_TEST_TMPDIR/log" 2>&1 &
    grading=$!
    runs() {
        find build/check/grade.*/"$FIRST" -name stdout -size +0 \
            >"$BATS_TEST_TMPDIR/runs" 2>/dev/null || true
        [ -s "$BATS_TEST_TMPDIR/runs" ]
    }
    within_reason runs
    kill -TERM "$(cat "$BATS_TEST_TMPDIR/out.pid")"
    wait "$grading" || true
    assert_file_not_exists "$BATS_TEST_TMPDIR/out/grade.json"
    assert_file_not_exists "$(cat "$BATS_TEST_TMPDIR/runs")"
    run grep -ls "$(cut -d / -f 1-3 "$BATS_TEST_TMPDIR/runs")" /proc/[0-9]*/cmdline
    assert_output ""
}

wait_for_words() { wait_for "$log" "$1"; }

# few_lessons: removes all lessons but three from a copy of the workbook
few_lessons() {
    local name
    for name in $(lessons | sed -n '4,$p'); do
        rm -r "lessons/$name.c" "solutions/$name.c" "tests/lessons/$name"
    done
}

@test "make watch: what is missing, what passes after a save, what is next; it ends by a signal" {
    local second copy='' log=$BATS_TEST_TMPDIR/log watch
    second=$(lessons | sed -n 2p)
    in_copy grading
    few_lessons
    as_typed TERM=dumb setsid --fork --wait env --default-signal=INT \
        bash -c 'echo $$ >pid; exec timeout 3600 make watch' >"$log" 2>&1 3>&- &
    watch=$!
    wait_for_words "Waiting for a file"
    wait_for_words "== $FIRST"
    wait_for_words "Next: lessons/$FIRST.c"
    wait_for_words "(0 of 3 pass)"
    grep -q MISS "$log"
    : >"$log"
    echo 'int main(void) { return absent; }' >"lessons/$second.c"
    wait_for_words "lessons/$second.c does not compile"
    wait_for_words "Next: lessons/$second.c"
    wait_for_words "Waiting for a file"
    : >"$log"
    cp "solutions/$FIRST.c" new && mv new "lessons/$FIRST.c"   # as editors save
    wait_for_words "$FIRST passes. (1 of 3)"
    wait_for_words "Next: lessons/$second.c"
    wait_for_words "Waiting for a file"
    run grep -c $'\e' "$log"
    assert_output 0
    kill -INT -- "-$(cat pid)"
    wait "$watch" || true
    wait_for_words "Stopped."
    cd "$ROOT" || return 1
    assert_equal "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$copy" 2>/dev/null)" ""
    # The copy uses what was built before, and compiles the simulated device no second time.
    refute [ "$copy/build/simulator/libcudart.so.13" -nt build/simulator/libcudart.so.13 ]
}

@test "make watch at a terminal: h, n, p and q; at the end it names the clinic" {
    [ -z "${COVERAGE:-}" ] || skip "a device that counts grades nothing, and this waits for a grade"
    local second third log=$BATS_TEST_TMPDIR/log
    type -P script >/dev/null || skip "script (util-linux) is not installed"
    second=$(lessons | sed -n 2p)
    third=$(lessons | sed -n 3p)
    in_copy grading
    cp -a "$ROOT/docs" .
    few_lessons
    cp "solutions/$FIRST.c" lessons
    # says WORDS KEY: when the words are there, the key is pressed
    says() { wait_for_words "$1" >&2 && : >"$log" && printf '%s' "$2"; }
    at_terminal() {
        as_typed TERM=dumb SHELL=/bin/sh timeout 600 script -qefc "make watch" -a "$log" \
            >/dev/null 2>&1 3>&-
    }
    : >"$log"
    {
        says "Keys: h hint, n next lesson, p its page, q quit." h
        says "Hint 1 of" n
        says "Next: lessons/$third.c" p
        says "The book is not built. make book builds and opens it." q
        wait_for_words "Stopped." >&2
    } | at_terminal
    : >"$log"
    {
        says "Keys: h" ""
        cp "solutions/$second.c" "solutions/$third.c" lessons
        wait_for_words "Every lesson passes." >&2
    } | at_terminal
    grep -q "(3 of 3)" "$log" || miss "$(cat "$log")"
    grep -q "make clinic-01" "$log" || miss "$(cat "$log")"
}
