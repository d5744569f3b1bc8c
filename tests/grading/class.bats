#!/usr/bin/env bats
# A class: its queue, its tables and pages, the result with weights and dates, and files for a
# gradebook. The tests of tables and pages write the grades themselves.

load ../suite

setup() {
    CLASS=$BATS_TEST_TMPDIR/class OUT=$BATS_TEST_TMPDIR/out
    mkdir -p "$CLASS" "$OUT/students"
    export CLASS OUT
}

# a_grade NAME JSON...: the student's folder, and a grade with these lessons:
# {lesson, points, possible}, and what else differs from a lesson without a miss
a_grade() {
    mkdir -p "$CLASS/$1" "$OUT/students/$1"
    printf '%s\n' "${@:2}" | jq -s '{workbook: {commit: "unknown", checks: "0"},
        sandbox: "bubblewrap", not_promised: [], seed: 7, folder: ".",
        points: (map(.points) | add), possible: (map(.possible) | add),
        lessons: map({status: "graded", sentence: null, file: null, tests: [], waiting: 0,
            given: 0, seed: 1} + .)}' >"$OUT/students/$1/grade.json"
}
setup_file() {
    CLASS=$BATS_FILE_TMPDIR/class OUT=$BATS_FILE_TMPDIR/out
    a_grade ada '{"lesson": "04_release_threshold", "points": 6, "possible": 6}' \
        '{"lesson": "06_trim", "points": 5, "possible": 5}'
    a_grade ben '{"lesson": "04_release_threshold", "points": 3, "possible": 6,
            "sentence": "Expected: <b>a</b> & b. Happened: c.",
            "tests": [{"name": "holds", "result": "passed", "lines": []},
                {"name": "is <i>set</i>", "result": "failed",
                    "lines": ["Expected: <b>a</b> & b.", "Happened: c.", "Read \"this\"."]}]}' \
        '{"lesson": "06_trim", "points": 0, "possible": 5, "status": "missing",
            "sentence": "lessons/06_trim.c does not exist."}'
    a_grade cleo '{"lesson": "04_release_threshold", "points": 0, "possible": 6,
            "status": "refused", "sentence": "It is a symbolic link."}' \
        '{"lesson": "06_trim", "points": 0, "possible": 5,
            "sentence": "The program did not end within 5 seconds and was stopped."}'
}
three() { cp -a "$BATS_FILE_TMPDIR"/{class,out} "$BATS_TEST_TMPDIR"; }
collect() { accepted tests/grading/grade.sh class collect; }
not_collected() { refused "$1" tests/grading/grade.sh class collect; }
# course [LINE...]: the file of the course, of these lines or of stdin, which each call behind it
# reads
course() {
    export COURSE=$BATS_TEST_TMPDIR/course
    if [ $# = 0 ]; then cat; else lines "$@"; fi >"$COURSE"
}
# handed_in STUDENT LESSON TIME
handed_in() {
    cp "lessons/$2.c" "$CLASS/$1/"
    touch -d "$3" "$CLASS/$1/$2.c"
}

# ---- tables ----

@test "the table names the reason for each 0, and class.json has the same rows" {
    three
    collect
    run cat "$OUT/class.csv"
    assert_output "student,points,possible,04_release_threshold,06_trim,note
ada,11,11,6,5,
ben,3,11,3,0,06 missing
cleo,0,11,0,0,04 refused: It is a symbolic link. | 06 The program did not end within 5 seconds and\
 was stopped."
    run jq -c '.[1] | [.student, .points, .lessons, .graded]' "$OUT/class.json"
    assert_output '["ben",3,{"04_release_threshold":3,"06_trim":0},true]'
}

@test "halves, and what a course says a rule counts that waits" {
    local tests='[{"name": "a", "given": true, "result": "passed", "lines": []},
        {"name": "b", "given": false, "result": "passed", "lines": []},
        {"name": "c", "given": false, "result": "failed", "lines": ["Expected: c."]},
        {"name": "d", "given": false, "result": "skipped", "lines": ["c is not met"]}]'
    a_grade ada "{\"lesson\": \"06_trim\", \"points\": 1.5, \"possible\": 3, \"given\": 1,
        \"waiting\": 1, \"sentence\": \"Expected: c.\", \"tests\": $tests}"
    collect
    assert_line --regexp '^ada +1\.5 of +3$'
    assert_equal "$(jq -c '.[0].lessons' "$OUT/class.json")" '{"06_trim":1.5}'
    assert_equal "$(jq -c '.[0].distribution' "$OUT/statistics.json")" '[0,1,0,0]'
    run cat "$OUT/students/ada/feedback.txt"
    assert_line "1 rule was not judged until this is repaired."
    for waiting in 0:1 1:2; do
        course '[course]' "waiting = ${waiting%:*}"
        collect
        assert_equal "$waiting: $(jq -c '.[0].lessons[]' "$OUT/class.json")" \
            "$waiting: ${waiting#*:}"
        # Gradescope gets the same, of each rule.
        run jq -c '[.score, ([.tests[].score] | add), (.tests[0] | .number, .max_score)]' \
            "$OUT/students/ada/gradescope/results.json"
        assert_output "[${waiting#*:},${waiting#*:},\"06.1\",0]"
        assert_equal "$(jq .points "$OUT/students/ada/grade.json")" "${waiting#*:}"
    done
}

@test "a published solution is named in the table, and not in what the student receives" {
    local one=06_trim other=04_release_threshold name
    for name in ada ben cleo; do
        a_grade "$name" "{\"lesson\": \"$other\", \"points\": 5, \"possible\": 5}" \
            "{\"lesson\": \"$one\", \"points\": 5, \"possible\": 5}"
    done
    cp "solutions/$one.c" "solutions/$other.c" "$CLASS/ada"
    sed 's/^ *//' "solutions/$one.c" >"$CLASS/ben/$one.c"
    cp "lessons/$one.c" "lessons/$other.c" "$CLASS/cleo"
    collect
    assert_line "ada: 04 06 are the published solutions."
    assert_line "ben: 06 is nearly the published solution."
    assert_line --regexp "^For each student: .*students/NAME/feedback.html$"
    run jq -c '.[].note' "$OUT/class.json"
    assert_output '"04 06 are the published solutions"
"06 is nearly the published solution"
null'
    run grep -rl published "$OUT/students"
    assert_output ""
}

@test "students who share code are named as a pair, with other names and another layout, too" {
    local one=06_trim other=04_release_threshold name
    for name in ada ben cleo dan; do
        a_grade "$name" "{\"lesson\": \"$other\", \"points\": 5, \"possible\": 5}" \
            "{\"lesson\": \"$one\", \"points\": 5, \"possible\": 5}"
        cp "solutions/$one.c" "solutions/$other.c" "$CLASS/$name"
    done
    # Ada and Ben share a function, and Dan has one of his own. All have the solution otherwise.
    cat >>"$CLASS/ada/$one.c" <<'END'
static int ada_sum(const int *from, int count)
{
    int total = 0; /* so far */
    for (int at = 0; at < count && from[at] != -1; at++)
        total += 3 * from[at] - count;
    return total > 0 ? total : -total;
}
END
    sed 's/ada_sum/sum/; s/from/values/g; s/\bat\b/i/g; s/total/x/g; s,/\*.*\*/,,; s/^ *//' \
        "$CLASS/ada/$one.c" >"$CLASS/ben/$one.c"
    cat >>"$CLASS/dan/$one.c" <<'END'
static int dan(struct cudaDeviceProp all, char *text)
{
    while (*text++ != 'x')
        if (all.major << 2 == text[-1] || text[5] / 7 > all.minor + 3)
            return dan(all, text + 1) % 9;
    return *text;
}
END
    collect
    run cat "$OUT/similar.csv"
    assert_output $'student,other,lessons,which\nada,ben,1,06'
    cp "$CLASS/ada/$one.c" "$CLASS/cleo/$other.c"
    cp "$CLASS/ada/$one.c" "$CLASS/ben/$other.c"
    collect
    run cat "$OUT/similar.csv"
    assert_output $'student,other,lessons,which\nada,ben,1,06\nben,cleo,1,04'
}

@test "a student without a grade has a row with the reason, and the exit status is 2" {
    three
    rm "$OUT/students/ada/grade.json"
    echo "STUDENT=x: its folder lessons is a symbolic link." >"$OUT/students/ada/errors.txt"
    touch "$OUT/students/ben/begun"
    not_collected "The grading was interrupted."
    run jq -c '.[] | [.student, .points, .graded, .note]' "$OUT/class.json"
    assert_line --index 0 '["ada",null,false,"STUDENT=x: its folder lessons is a symbolic link."]'
    assert_line --index 1 --partial '["ben",null,false,"The grading was interrupted.'
}

@test "odd names have rows and pages, no cell begins a formula, one with a dot is named" {
    local name
    for name in '=1+1' '+1' '-rf' '@SUM(A1)' $'\ttab, "quoted"' $'two\nlines' $'\xff\xfe' \
        'a,b;c "d" $(e)'; do
        a_grade "$name" '{"lesson": "06_trim", "points": 0, "possible": 5, "status": "refused",
            "sentence": "=HYPERLINK()"}'
    done
    mkdir "$CLASS/..." "$CLASS/.git"
    collect
    assert_line "Not graded: ... (begins with a dot), .git (begins with a dot)."
    # Each has a link that leads to a page.
    run python3 -SB - "$OUT" <<'END'
import csv, pathlib, re, sys, urllib.parse
out = pathlib.Path(sys.argv[1])
for row in csv.reader((out / "class.csv").open(newline="")):
    print(row[0], len(row))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row), row
links = re.findall('href="(students/[^"]*)"', (out / "class.html").read_text())
for link in links:
    assert pathlib.Path(out, urllib.parse.unquote(link, errors="surrogateescape")).is_file(), link
print(len(links))
END
    assert_output - <<'END'
student 5
\x09tab, "quoted" 5
'+1 5
'-rf 5
'=1+1 5
'@SUM(A1) 5
a,b;c "d" $(e) 5
two\x0alines 5
\xff\xfe 5
8
END
}

# ---- the result ----

@test "a folder that is a link is named and not followed; a long name does not widen the table" {
    local long
    long=$(printf 'x%.0s' {1..200})
    a_grade ada '{"lesson": "06_trim", "points": 5, "possible": 5}'
    a_grade "$long" '{"lesson": "06_trim", "points": 5, "possible": 5}'
    ln -s "$ROOT/solutions" "$CLASS/eve"
    collect
    assert_line "Not graded: eve (a symbolic link)."
    assert_line --regexp '^x{37}\.\.\. +5 of +5$'
    run jq -r '.[].student' "$OUT/class.json"
    assert_output "ada
$long"
}

@test "a table that cannot be written is a sentence, and the one before it stays" {
    three
    # What nobody but root can read stops no table.
    touch "$CLASS/ada/06_trim.c"
    chmod 0 "$CLASS/ada/06_trim.c"
    collect
    cp -r "$OUT" "$BATS_TEST_TMPDIR/before"
    (ulimit -f 1 && not_collected "$OUT/students/ada/feedback.html: File too large.")
    diff -r "$OUT" "$BATS_TEST_TMPDIR/before"
    rm "$OUT/class.csv"
    mkdir "$OUT/class.csv"
    not_collected "$OUT/class.csv: Is a directory."
}

@test "weights, days late, grace, limit, extensions and adjustments make the result" {
    three
    handed_in ada 04_release_threshold "2026-09-14 23:59:00Z"
    handed_in ada 06_trim "2026-09-22 00:10:00Z"       # 2 days begun
    handed_in ben 04_release_threshold "2026-09-15 00:10:00Z"   # in the grace
    handed_in cleo 06_trim "2026-10-22 00:10:00Z"
    course <<'END'
# A course.
[course]
title = Pools
maximum = 50
submitted = file
late = 10
grace = 15
days = 5
zone = UTC
[weights]
04 = 3
[due]
4 = 2026-09-14 23:59
06_trim = 2026-09-20 23:59
[adjustments]
ben/04 = +1.5 The file of Monday.
cleo = +0.255
ada = -2.5 Copied.
END
    collect
    # ada: (3 * 6/6 + 1 * 5*0.8/5) / 4 * 50 - 2.5; ben: 3 * 4.5/6 / 4 * 50; cleo: halves go up
    run jq -c '.[] | [.student, .result, .counted, .days_late]' "$OUT/class.json"
    assert_output '["ada",45,{"04_release_threshold":6,"06_trim":4},{"06_trim":2}]
["ben",28.13,{"04_release_threshold":4.5,"06_trim":0},{}]
["cleo",0.26,{"04_release_threshold":0,"06_trim":0},{"06_trim":32}]'
    run head -n 2 "$OUT/class.csv"
    assert_output "student,result,points,possible,04_release_threshold,06_trim,days late,note
ada,45,11,11,6,5,06:2,"
    # The page shows all of it: what was due and handed in, what was lost, the weights, the sum.
    run sed -nE '/^(Result|A lesson|0[46])/s/ +/ /gp' "$OUT/students/ada/feedback.txt"
    assert_output "Result: 45 of 50.
04_release_threshold 6 6 2026-09-14 23:59 2026-09-14 23:59:00 6 3
06_trim 5 5 2026-09-20 23:59 2026-09-22 00:10:00 2 days late: -20% 4 1
Result = 50 x 3.8 / 4, then -2.5 Copied.: 50 x the sum of weight x counted / of, divided by the \
sum of the weights.
A lesson loses 10% for each day begun after its due date. 15 minutes later is still in time. \
More than 5 days later counts 0. Times are those of UTC.
04_release_threshold: 6 of 6
06_trim: 5 of 5"
    run grep -hE "Result|late|Monday" "$OUT"/students/{ben,cleo}/feedback.txt
    assert_output --partial "+1.5 The file of Monday."
    assert_output --partial "32 days late: -100%"
    assert_output --partial "Result = 50 x 0 / 4, then +0.26: 50 x"
    # No date is in the grade itself.
    run grep -l 2026 "$OUT/students/ada/grade.json"
    assert_output ""
    # An extension, and a limit.
    lines '[extensions]' 'ada/06 = 2026-09-23T00:00Z' >>"$COURSE"
    collect
    assert_equal "$(jq -c '.[0] | [.result, .days_late]' "$OUT/class.json")" '[47.5,{}]'
    sed -i 's/^days = 5/days = 1/; /extensions/,$d' "$COURSE"
    collect
    assert_equal "$(jq -c '.[0].result' "$OUT/class.json")" 35
}

@test "slip days: late lessons use them up in the order of their due dates" {
    three
    handed_in ada 06_trim "2026-09-16 10:00Z"              # 2 days late
    handed_in ada 04_release_threshold "2026-09-23 10:00Z" # 3 days late
    course <<'END'
[course]
submitted = file
late = 10
days = 2
slip = 3
zone = UTC
[due]
06 = 2026-09-14 23:59
04 = 2026-09-20 23:59
END
    collect
    run jq -r '.[] | select(.student == "ada") | "\(.counted) \(.days_late) \(.result)"' \
        "$OUT/class.json"
    # 06 costs two slip days, 04 the third: two days remain, which is the limit.
    assert_output "$(printf '%s ' '{"04_release_threshold":4.8,"06_trim":5}' \
        '{"04_release_threshold":3,"06_trim":2}')90"
    run cat "$OUT/students/ada/feedback.txt"
    assert_line --partial "3 days late, 1 of them slip: -20%"
    assert_line --partial "2 days late, 2 of them slip: -0%"
    assert_line "Slip days left: 0."
    assert_line --partial "Each student has 3 slip days"
    sed -i 's/^slip.*/slip = 2.5/' "$COURSE"
    not_collected "slip is a whole number of days"
}

# submission STUDENT NAME TIME JSON...: keeps an earlier submission with these lessons
submission() {
    local folder=$OUT/students/$1/submissions/$2 given
    mkdir -p "$folder/lessons"
    jq --argjson lessons "$(lines "${@:4}" | jq -s .)" '.folder = "lessons"
        | .lessons = ($lessons | map({status: "graded", sentence: null, tests: [], given: 0,
            waiting: 0} + .))' "$OUT/students/$1/grade.json" >"$folder/grade.json"
    for given in "${@:4}"; do
        given=$folder/lessons/$(jq -r .lesson <<<"$given").c
        echo "$2" >"$given"
        touch -d "$3" "$given"
    done
}

@test "count = best: of each lesson what counts most, after lateness; else the last submission" {
    a_grade ada '{"lesson": "04_release_threshold", "points": 5, "possible": 6, "file": "3"}' \
        '{"lesson": "06_trim", "points": 0, "possible": 5, "status": "missing"}'
    handed_in ada 04_release_threshold "2026-09-16 10:00Z"
    submission ada one "2026-09-10 10:00Z" \
        '{"lesson": "04_release_threshold", "points": 3, "possible": 6, "file": "1"}' \
        '{"lesson": "06_trim", "points": 4, "possible": 5, "file": "2"}'
    submission ada two "2026-09-12 10:00Z" \
        '{"lesson": "04_release_threshold", "points": 4.5, "possible": 6, "file": "4"}'
    # A submission that other checks have graded does not count.
    submission ada old "2026-09-11 10:00Z" \
        '{"lesson": "04_release_threshold", "points": 6, "possible": 6, "file": "5"}'
    sed -i 's/"seed": 7/"seed": 8/' "$OUT/students/ada/submissions/old/grade.json"
    course '[course]' 'submitted = file' 'late = 10' 'count = best' 'zone = UTC' \
        '[due]' '04 = 2026-09-14 23:59'
    collect
    # Five points are worth 4 when two days late.
    run jq -c '.[0].counted, .[0].points' "$OUT/class.json"
    assert_output $'{"04_release_threshold":4.5,"06_trim":4}\n8.5'
    run cat "$OUT/students/ada/feedback.txt"
    assert_line --regexp '^04_release_threshold .*2026-09-12 10:00:00 .*best of 3 submissions'
    sed -i 's/best/last/' "$COURSE"
    collect
    run jq -c '.[0].counted' "$OUT/class.json"
    assert_output '{"04_release_threshold":4,"06_trim":0}'
    sed -i 's/last/best/; s/file/roster/' "$COURSE"
    not_collected "needs the time of each submission"
}

# ---- what a platform gives ----

# zip_of FILE NAME=TEXT...: an archive with these files. NAME=@COUNT: so many bytes; NAME=<PATH:
# what that file has. With *COUNT behind NAME there are so many files, whose number %d is.
zip_of() {
    python3 -SB - "$@" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for given in sys.argv[2:]:
        name, _, text = given.partition("=")
        name, _, times = name.partition("*")
        if text[:1] == "@":
            text = bytes(int(text[1:]))
        elif text[:1] == "<":
            text = open(text[1:], "rb").read()
        for number in range(int(times or 1)):
            file = zipfile.ZipInfo(name.replace("%d", str(number)), (2026, 9, 14, 12, 0, 0))
            archive.writestr(file, text, zipfile.ZIP_DEFLATED)
END
}

@test "Canvas's download is a class: names, versions, and the names of the feedback" {
    local made=$OUT/handed-in
    zip_of "$BATS_TEST_TMPDIR/1.zip" lovelaceada_11_101_04_release_threshold.c=first \
        lovelaceada_11_102_06_trim.c=trim benl_LATE_12_103_04_release_threshold-2.c=second \
        benl_LATE_12_105_04_release_threshold.c=old ../../cleo_13_106_../../06_trim.c=up \
        __MACOSX/._lovelaceada_11_101_04.c=x notes.txt=x
    zip_of "$BATS_TEST_TMPDIR/2.zip" lovelaceada_11_201_04_release_threshold-1.c=later
    mkdir "$BATS_TEST_TMPDIR/both"
    mv "$BATS_TEST_TMPDIR"/[12].zip "$BATS_TEST_TMPDIR/both"
    run python3 -SB tests/grading/class/unpack.py "$BATS_TEST_TMPDIR/both" "$made"
    assert_success
    assert_output --partial "Not unpacked: 'notes.txt': its name names no student."
    run bash -c "cd '$made' && grep -r '' . | LC_ALL=C sort"
    assert_output './benl_12/04_release_threshold.c:second
./lovelaceada_11/.earlier/1/04_release_threshold.c:first
./lovelaceada_11/04_release_threshold.c:later
./lovelaceada_11/06_trim.c:trim'
    run date -r "$made/lovelaceada_11/06_trim.c" "+%F %T"
    assert_output "2026-09-14 12:00:00"
    CLASS=$made
    a_grade lovelaceada_11 '{"lesson": "06_trim", "points": 5, "possible": 5}'
    a_grade benl_12 '{"lesson": "06_trim", "points": 0, "possible": 5}'
    # An export of Canvas can be the roster as it is.
    printf '%s\n' 'Student,ID,SIS User ID,SIS Login ID,Section,Old (1)' \
        '    Points Possible,,,,,100' '"Lovelace, Ada",11,s,ada,1,' '"L, Ben",12,s,ben,1,' \
        >"$BATS_TEST_TMPDIR/roster.csv"
    ROSTER=$BATS_TEST_TMPDIR/roster.csv collect
    refute_output --partial roster
    run cat "$OUT/canvas.csv"
    assert_line '"Lovelace, Ada",11,s,ada,1,100'
    run python3 -m zipfile -l "$OUT/feedback-canvas.zip"
    assert_line --regexp '^lovelaceada_11_201_feedback.html '
    assert_line --regexp '^benl_12_10[35]_feedback.html '
    assert_file_not_exists "$OUT/feedback-moodle.zip"
}

# bats test_tags=long
@test "a ZIP file in a student's folder is unpacked, and graded as its files would be" {
    export ONLY=$FIRST SEED=7
    mkdir "$CLASS"/{ada,ben,cleo}
    cp "solutions/$FIRST.c" "$CLASS/ada"
    zip_of "$CLASS/ben/all.ZIP" "my/lessons/$FIRST.c=<solutions/$FIRST.c" ../../../up.c=up
    touch -d 2026-10-01 "$CLASS/ben/all.ZIP"
    echo "no archive" >"$CLASS/cleo/all.zip"
    accepted tests/grading/grade.sh class
    assert_output --partial 'lesson'\''s file: "all.zip" cannot be unpacked'
    run jq -r '.[] | "\(.student) \(.points) \(.note)"' "$OUT/class.json"
    assert_line --regexp "^ada $(possible "$FIRST") .*published"
    assert_line --regexp "^ben $(possible "$FIRST") .*published"
    assert_line --partial "cleo 0 "
    # The ZIP file was handed in; its date counts, and not what it says of its files.
    run date -r "$OUT/students/ben/handed-in/my/lessons/$FIRST.c" +%F
    assert_output 2026-10-01
    assert_file_exists "$OUT/students/ben/handed-in/up.c"
    # What is handed in as a file later counts again.
    cp "lessons/$FIRST.c" "$CLASS/ben"
    run as_typed tests/grading/grade.sh class
    assert_equal "$(jq -c 'map(.points)' "$OUT/class.json")" "[$(possible "$FIRST"),0,0]"
    assert_not_exists "$OUT/students/ben/handed-in"
}

# bats test_tags=long
@test "ZIP files beside folders are students, and so are those of a ZIP file of the class" {
    local full name
    full=$(possible "$FIRST")
    export ONLY=$FIRST SEED=7
    mkdir "$CLASS"/{ada,.hidden}
    cp "solutions/$FIRST.c" "$CLASS/ada"
    zip_of "$CLASS/ben.zip" "my work/$FIRST.c=<solutions/$FIRST.c"
    zip_of "$CLASS/ada.ZIP" "$FIRST.c=int main(void) { return 0; }"
    zip_of "$CLASS/all.zip" "cleo_1_2_$FIRST.c=a" "dora_3_4_$FIRST.c=b"
    echo "no archive" >"$CLASS/cleo.zip"
    accepted tests/grading/grade.sh class
    assert_line "Not graded: .hidden (begins with a dot), all.zip (a download with all submissions:\
 name it alone), ada.ZIP (ada counts)."
    assert_line "Not unpacked: 'cleo.zip': File is not a zip file"
    assert_line --regexp '^cleo: an archive is there.*: "cleo.zip" cannot be unpacked: File is not'
    run jq -r '.[] | "\(.student) \(.points) \(.note)"' "$OUT/class.json"
    assert_line --index 0 --partial "ada $full "
    assert_line --index 1 --partial "ben $full "
    assert_line --index 2 "cleo 0 01 missing"
    # In one ZIP file, with a folder around them or without.
    for name in "" class/; do
        zip_of "$BATS_TEST_TMPDIR/all.ZIP" "${name}ada/lessons/06_trim.c=a" \
            "${name}ben.zip=<$CLASS/ben.zip" "${name}notes.txt=x" __MACOSX/a/06_trim.c=x
        run python3 -SB tests/grading/class/unpack.py "$BATS_TEST_TMPDIR/all.ZIP" "$OUT/handed-in"
        assert_success
        assert_line "Not unpacked: '${name}notes.txt': its name names no student."
        run bash -c "cd '$OUT/handed-in' && find . -type f | LC_ALL=C sort"
        assert_output "./ada/lessons/06_trim.c"$'\n'"./ben/my work/$FIRST.c"
    done
    # A class of one, whose folder is no folder around students.
    zip_of "$BATS_TEST_TMPDIR/one.zip" ada/lessons/06_trim.c=a ada/solutions/06_trim.c=b
    run python3 -SB tests/grading/class/unpack.py "$BATS_TEST_TMPDIR/one.zip" "$OUT/handed-in"
    assert_equal "$(ls "$OUT/handed-in")" ada
    zip_of "$BATS_TEST_TMPDIR/none.zip" 06_trim.c=a
    refused "none.zip: it has no folder and no ZIP file of a student" \
        CLASS="$BATS_TEST_TMPDIR/none.zip" tests/grading/grade.sh class
}

@test "STUDENT may be a ZIP file, or a folder with one; one that cannot be unpacked says why" {
    local zip=$BATS_TEST_TMPDIR/x.ZIP
    export ONLY=$FIRST
    not_unpacked() {
        refused "STUDENT=$zip cannot be unpacked: $1" STUDENT="$zip" tests/grading/grade.sh
        assert_file_not_exists "$OUT/grade.json"
    }
    echo "no archive" >"$zip"
    not_unpacked "File is not a zip file"
    truncate -s 65M "$zip"
    not_unpacked "it is larger than 64 MiB."
    zip_of "$zip"
    not_unpacked "it has no files."
    zip_of "$zip" "$FIRST.c=x"
    python3 -SB - "$zip" <<'END'
import sys
from pathlib import Path
path = Path(sys.argv[1])
data = bytearray(path.read_bytes())
data[data.index(b"PK\1\2") + 8] |= 1
path.write_bytes(data)
END
    not_unpacked "it is encrypted. It must be a ZIP file without a password."
    zip_of "$zip" '%d*20001='
    not_unpacked "it has more than 20000 files."
    # Of many files those of lessons count; a long one is refused as it would be in a folder.
    zip_of "$zip" 'book/%d.html*1000=x' "book/lessons/$FIRST.c=<solutions/$FIRST.c" \
        book/lessons/06_trim.c=@31457280
    accepted ONLY="$FIRST 6" STUDENT="$zip" tests/grading/grade.sh
    assert_line --partial "its files are in book/lessons."
    assert_line --partial "298.html': a student's first 300 files are unpacked, and there are 702 m"
    assert_equal "$(jq -c '.lessons | map(.points)' "$OUT/grade.json")" "[$(possible "$FIRST"),0]"
    assert_equal "$(jq -r '.lessons[1].sentence' "$OUT/grade.json")" \
        "lessons/06_trim.c is larger than 1 MiB. No lesson needs that much."
    mkdir "$CLASS/ada"
    mv "$zip" "$CLASS/ada"
    accepted STUDENT="$CLASS/ada" tests/grading/grade.sh
    assert_equal "$(jq .points "$OUT/grade.json")" "$(possible "$FIRST")"
    assert_equal "$(ls "$CLASS/ada")" x.ZIP
}

@test "Moodle's download is a class, with folders and without; an archive that lies harms nothing" {
    local made=$OUT/handed-in folder=$BATS_TEST_TMPDIR/unpacked
    zip_of "$BATS_TEST_TMPDIR/m.zip" "Ada Lovelace_11_assignsubmission_file_/lessons/06_trim.c=a" \
        "Ben_12_assignsubmission_file/06_trim.c=b" "Cleo_13_assignsubmission_file_06_trim.c=c" \
        "Dora_14_assignsubmission_file_/../../../../out/06_trim.c=d"
    run python3 -SB tests/grading/class/unpack.py "$BATS_TEST_TMPDIR/m.zip" "$made"
    assert_success
    run bash -c "cd '$made' && find . -type f | LC_ALL=C sort"
    assert_output './Ada Lovelace_11/lessons/06_trim.c
./Ben_12/06_trim.c
./Cleo_13/06_trim.c
./Dora_14/out/06_trim.c'
    run jq -r '."Ada Lovelace_11".moodle' "$made.json"
    assert_output "Ada Lovelace_11_assignsubmission_file"
    # The teacher may have unpacked the archive.
    mkdir -p "$folder/Ben_12_assignsubmission_file_"
    echo b >"$folder/Ben_12_assignsubmission_file_/06_trim.c"
    run python3 -SB tests/grading/class/unpack.py "$folder" "$made"
    assert_success
    assert_file_exists "$made/Ben_12/06_trim.c"
    # A folder of students' folders is no download, whatever else is in it.
    three
    touch "$CLASS/notes_1_2_of_mine.txt"
    run python3 -SB tests/grading/class/unpack.py "$CLASS" "$made"
    assert_equal "$status" 1
    # A file that is no archive has a sentence.
    echo text >"$BATS_TEST_TMPDIR/text.zip"
    refused "text.zip: File is not a zip file" \
        CLASS="$BATS_TEST_TMPDIR/text.zip" tests/grading/grade.sh class
}

@test "files in an unusual place or under other names are named, and so is a partial table" {
    local all
    all=$(lessons | wc -l)
    a_grade ada '{"lesson": "04_release_threshold", "points": 6, "possible": 6}'
    jq '.folder = "pools-main/lessons"' "$OUT/students/ada/grade.json" >"$BATS_TEST_TMPDIR/grade"
    cp "$BATS_TEST_TMPDIR/grade" "$OUT/students/ada/grade.json"
    a_grade ben '{"lesson": "04_release_threshold", "points": 0, "possible": 6, "status": "missing",
        "sentence": "lessons/04_release_threshold.c is no file, but \"04 (1).c\" does: name it 0"}'
    handed_in_folder=$CLASS/ada/pools-main/lessons
    mkdir -p "$handed_in_folder"
    touch -d "2026-09-14 12:00Z" "$handed_in_folder/04_release_threshold.c"
    course '[course]' 'submitted = file' 'late = 50' 'zone = UTC' '[due]' '04 = 2026-09-13 23:00'
    collect
    assert_line "ada: its files are in pools-main/lessons."
    assert_line 'ben: not under a lesson'"'"'s name: "04 (1).c".'
    assert_line "Points and results are of 1 of the $all lessons alone."
    run grep -hE "^(About|6 of 6|04_.*late)" "$OUT/students/ada/feedback.txt"
    assert_line "6 of 6 points, of 1 of the $all lessons."
    assert_line "About the files: its files are in pools-main/lessons."
    assert_line --regexp "^04_.* 2026-09-14 12:00:00 +1 day late: -50% +3 +1$"
    assert_equal "$(jq -r '.[1].note' "$OUT/class.json")" "04 missing: \
lessons/04_release_threshold.c is no file, but \"04 (1).c\" does: name it 0"
}

@test "every bad line of the course has a sentence with its number, and nothing is written" {
    three
    course <<'END'
early = 1
[course]
maximum = many
late = 110
zone = Nowhere/City
color = red
submitted = yesterday
late = 1
just words
[wieghts]
[weights]
99 = 1
06 = -1
[due]
07 = 14.9.2026
06_trim = 2026-09-31 23:59
[extensions]
ada = 2026-09-14 23:59
adam/07 = 2026-09-14 23:59
[adjustments]
ada/07 = 2
nobody = +2
ada = +9999999
[due]
06 = 9999-12-31 23:59
END
    not_collected 'course:1: a section, such as [course], must come first.'
    assert_equal "$(sed -E "s,^$COURSE:,," <<<"$output" | cut -d : -f 1)" \
        "$(printf '%s\n' 1 3 4 5 6 7 8 9 10 12 13 15 16 18 19 21 22 23 25)"
    assert_line --partial '3: "many" is not a number from 0 to 1000000.'
    assert_line --partial '5: the time zone "Nowhere/City" is not known here'
    assert_line --partial '8: late is also in line 4.'
    assert_line --partial '9: expected "name = value"'
    assert_line --partial '12: there is no lesson 99.'
    assert_line --partial '15: "14.9.2026" is not a date and time; write it as 2026-09-14 23:59.'
    assert_line --partial '19: the class has no student adam.'
    assert_line --partial '21: "2" must begin with + or -.'
    assert_file_not_exists "$OUT/class.csv"
    COURSE=/not/there not_collected \
        "/not/there cannot be read: No such file or directory. Name a text file."
    COURSE=/dev/zero not_collected "/dev/zero has more than 16 MiB. Name a text file."
    # The course is read before the first student is graded.
    course '[due]' '07 = 2026-09-14 23:59'
    refused 'must have a line that names the time of a submission' tests/grading/grade.sh class
    assert_file_not_exists "$OUT/joblog.0.1"
}

@test "the roster gives the files for Canvas and Moodle, and the time of a submission" {
    three
    export ROSTER=$BATS_TEST_TMPDIR/roster.csv
    cat >"$ROSTER" <<'END'
folder,Student,ID,SIS Login ID,Section,Email address,submitted,submitted 06
ada,"Lovelace, Ada",11,ada,1,ada@example.org,2026-09-14 10:00,2026-09-15 10:00
ben,"=Ben",12,ben,1,ben@example.org,2026-09-14 10:00,
dora,"Dora",13,dora,1,dora@example.org,,
emil,"Emil",14,emil,1,emil@example.org,,
END
    course <<'END'
[course]
submitted = roster
late = 50
[due]
06 = 2026-09-14 23:59
[columns]
result = Workbook (99)
06 = Trim, lesson
END
    collect
    assert_line "Not in the roster, so not in the gradebook's file: cleo"
    assert_line "In the roster, but without a folder in the class: dora, emil"
    run cat "$OUT/canvas.csv"
    assert_output 'Student,ID,SIS User ID,SIS Login ID,Section,Workbook (99),"Trim, lesson"
    Points Possible,,,,,100,5
"Lovelace, Ada",11,,ada,1,75,2.5
'"'=Ben,12,,ben,1,25,0"
    run cat "$OUT/moodle.csv"
    assert_output 'Email address,Workbook (99),"Trim, lesson"
ada@example.org,75,2.5
ben@example.org,25,0'
    sed -i '1s/,ID,/,number,/; 1s/Email address/mail/' "$ROSTER"
    collect
    assert_line --partial "No gradebook's file: ROSTER lacks Student and ID, and ID number,"
    sed -i 's/2026-09-15 10:00/soon/; s/^ben.*/ada/' "$ROSTER"
    not_collected 'roster.csv:2: "soon" is not a date and time'
    assert_line --partial 'roster.csv:3: it has 1 columns, the first line has 8.'
    ROSTER='' not_collected 'there is no ROSTER=FILE'
}

# ---- pages ----

@test "a student's page has what was expected, what happened and where to read, all escaped" {
    local page=$OUT/students/ben/feedback
    three
    course '[course]' 'book = https://example.org/book/' 'title = P & "Q"'
    collect
    run grep -ciE '<script|<b>|<i>' "$page.html"
    assert_output 0
    grep -qF '<p>Expected: &lt;b&gt;a&lt;/b&gt; &amp; b.</p>' "$page.html"
    grep -qF '<a href="https://example.org/book/06_trim.html">' "$page.html"
    run python3 -SB - "$page.html" "$OUT/class.html" <<'END'
import html.parser, sys
class Strict(html.parser.HTMLParser):
    open = []
    def handle_starttag(self, tag, _):
        if tag not in ("meta", "link"):
            self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
for name in sys.argv[1:]:
    reader = Strict()
    reader.feed(open(name, encoding="utf-8").read())
    assert reader.open == []
    print("closed")
END
    assert_output $'closed\nclosed'
    run cat "$page.txt"
    assert_line "Missed: is <i>set</i>."
    assert_line "Expected: <b>a</b> & b."
    assert_line "Happened: c."
    assert_line '    Read "this".'
    assert_line "lessons/06_trim.c does not exist."
}

@test "a student's page has the file, and each miss is a link to a line of it" {
    local file=04_release_threshold page=$OUT/students/ada/feedback
    mkdir -p "$CLASS/ada"
    printf '/* pool_set(x) */\r\nint a;\n    pool_set(1 < 2);\n' >"$CLASS/ada/$file.c"
    a_grade ada "{\"lesson\": \"$file\", \"points\": 3, \"possible\": 6,
        \"file\": \"$(sha256sum <"$CLASS/ada/$file.c" | cut -c -64)\",
        \"tests\": [{\"name\": \"one\", \"result\": \"failed\", \"lines\": [
                \"Expected: nothing in line 9, in line 1 of x.h, and in line 2.\",
                \"  at lessons/$file.c:3 (1)\"]},
            {\"name\": \"two\", \"result\": \"failed\", \"lines\": [\"Expected: pool_set.\"]},
            {\"name\": \"three\", \"result\": \"failed\", \"lines\": [\"Expected: more.\"]}]}" \
        '{"lesson": "06_trim", "points": 0, "possible": 5, "status": "missing",
            "sentence": "lessons/06_trim.c does not exist."}'
    collect
    run grep -E '^<h3>|^<p>Exp|^  at |^<pre|^<span' "$page.html"
    assert_output - <<END
<h3><a href="#$file-2">Missed: one.</a></h3>
<p>Expected: nothing in line 9, in line 1 of x.h, and <a href="#$file-2">in line 2</a>.</p>
<pre>  at lessons/<a href="#$file-3">$file.c:3</a> (1)</pre>
<h3><a href="#$file-3">Missed: two.</a></h3>
<p>Expected: pool_set.</p>
<h3><a href="#$file-1">Missed: three.</a></h3>
<p>Expected: more.</p>
<pre class="source" tabindex="0"><span id="$file-1">/* pool_set(x) */</span>
<span id="$file-2">int a;</span>
<span id="$file-3">    pool_set(1 &lt; 2);</span></pre>
END
    refute grep -q 'int a;' "$page.txt"
    # Another file than the one that was graded has other lines, and is not shown.
    echo >>"$CLASS/ada/$file.c"
    collect
    refute grep -qE '<h3><a|class="source"' "$page.html"
}

@test "the statistics count statuses, points and misses" {
    three
    collect
    # jq 1.7 and later keep 1.0 as it was written, unless it computes.
    run jq -c 'walk(if type == "number" then . + 0 else . end) | .[0] | del(.tests), .tests' \
        "$OUT/statistics.json"
    assert_output '{"lesson":"04_release_threshold","students":3,"possible":6,"mean":3,"median":3,'\
'"distribution":[1,0,0,1,0,0,1],"status":{"graded":2,"refused":1},'\
'"misses":[{"sentence":"<b>a</b> & b.","students":1}]}
[{"name":"holds","missed":0,"judged":1,"waiting":0,"difficulty":1,"discrimination":null},'\
'{"name":"is <i>set</i>","missed":1,"judged":1,"waiting":0,"difficulty":0,"discrimination":null}]'
    grep -qF 'is &lt;i&gt;set&lt;/i&gt;' "$OUT/class.html"
}

# item NAME RESULT [SENTENCE]
item() {
    jq -nc '{name: $ARGS.positional[0], result: $ARGS.positional[1],
        lines: ["Expected: \($ARGS.positional[2])", "Happened: it did not."]}' --args "$@"
}

# with LESSON TEST...: the lesson with these tests
with() { jq -nc '($ARGS.positional[0] | fromjson)
    + {tests: ($ARGS.positional[1:] | map(fromjson))}' --args "$@"; }

@test "the most frequent sentences without what was drawn; how difficult each test is" {
    local lesson='{"lesson": "06_trim", "points": 1, "possible": 5}'
    a_grade ada "$(with "$lesson" "$(item a passed)" "$(item b passed)" "$(item c passed)")"
    a_grade ben "$(with "$lesson" "$(item a passed)" "$(item b failed "it keeps 96 MiB.")" \
        "$(item c failed x)")"
    a_grade cleo "$(with "$lesson" "$(item a failed y)" \
        "$(item b failed "it keeps 128 MiB.")" "$(item c skipped)")"
    collect
    run jq -c '.[0].misses[0], (.[0].tests[] | [.name, .missed, .judged, .waiting, .difficulty,
        .discrimination])' "$OUT/statistics.json"
    assert_output '{"sentence":"it keeps N MiB.","students":2}
["a",1,3,0,0.67,0.5]
["b",2,3,0,0.33,0.87]
["c",1,2,1,0.33,0.87]'
    grep -qF '<td>it keeps N MiB.</td><td class="bar">' "$OUT/class.html"
    grep -qF '<caption>Mean and median are of all students' "$OUT/class.html"
    grep -qF '<th scope="row">' "$OUT/class.html"
}

@test "bad arguments have a sentence and status 2" {
    local given words
    three
    refused "the first number must be less than the second" tests/grading/grade.sh class batch 3 3
    echo kept >"$OUT/class.csv" # the table of an earlier call stays
    cp lessons/01_first_allocation.c "$CLASS/ada"
    # A longer seed would be refused for each student.
    while IFS='|' read -r given words; do
        refused "$words" "$given" tests/grading/grade.sh class
    done <<END
JOBS=none|JOBS=none: expected a whole number from 1 to 999999999.
SEED=x|SEED=x: expected a whole number from 1 to 999999999.
SEED=12345678901|SEED=12345678901: expected a whole number from 1 to 999999999.
CLASS=$CLASS/not|CLASS=$CLASS/not: there is no such folder, and no such ZIP file.
CLASS=README.md|CLASS=README.md: this is neither a ZIP file nor a folder
CLASS=$CLASS/ada|so it is one student's folder.
ONLY=99|ONLY="99": there is no lesson 99.
CHECK_WAITING=x|CHECK_WAITING=x: expected a number from 0 to 1, such as 0.5.
OUT=$CLASS/out|out is in the folder of the class, where it would count as a student.
END
    assert_file_not_exists "$CLASS/out"
    assert_equal "$(cat "$OUT/class.csv")" kept
}

# ---- the queue ----

# bats test_tags=long
@test "a class: a row for each student, whatever the name; a second call grades changes" {
    local full name="-o'clock \"\$HOME\"" before
    export ONLY=$FIRST SEED=7
    full=$(possible "$FIRST")
    mkdir -p "$CLASS/$name" "$CLASS"/{empty,linked,starter} "$CLASS/"$'\xff\n'
    cp "solutions/$FIRST.c" "$CLASS/$name"
    cp "solutions/$FIRST.c" "$CLASS/"$'\xff\n'
    ln -s ../starter "$CLASS/linked/lessons"
    cp "lessons/$FIRST.c" "$CLASS/starter"
    touch "$CLASS/notes.txt"
    mkdir "$CLASS/__MACOSX"
    run as_typed make -j2 grade-class
    assert_failure
    assert_line "Not graded: __MACOSX (made by an archiver), notes.txt (neither a folder nor a ZIP \
file)."
    refute_line --partial jobserver
    run jq -r '.[] | "\(.student) \(.points)"' "$OUT/class.json"
    assert_output "$(printf '%s\n' "$name $full" "empty 0" "linked null" "starter 0" \
        "\\xff\\x0a $full")"
    [[ "$(jq -r '.[2].note' "$OUT/class.json")" == *"symbolic link"* ]]
    before=$(find "$OUT/students/$name" -type f -exec sha256sum {} + | sort)
    touch "$BATS_TEST_TMPDIR/mark"
    rm "$CLASS/linked/lessons"
    cp "solutions/$FIRST.c" "$CLASS/starter"
    accepted make grade-class
    run find "$OUT/students" -name grade.json -newer "$BATS_TEST_TMPDIR/mark"
    assert_equal "$(sort <<<"$output")" \
        "$OUT/students/linked/grade.json"$'\n'"$OUT/students/starter/grade.json"
    assert_equal "$(jq -c 'map(.points)' "$OUT/class.json")" "[$full,0,0,$full,$full]"
    assert_equal "$(find "$OUT/students/$name" -type f -exec sha256sum {} + | sort)" "$before"
    assert_equal "$(cat "$OUT/seed")" 7
    STUDENT=$CLASS/starter OUT=$BATS_TEST_TMPDIR/alone as_typed tests/grading/grade.sh >/dev/null
    cmp "$BATS_TEST_TMPDIR/alone/grade.json" "$OUT/students/starter/grade.json"
}

# The processes that grade into OUT.
gradings() { env -u OUT grep -lzs "^OUT=$OUT" /proc/[0-9]*/environ || true; }
# six: a class of six solutions of two lessons, and in $WHOLE what grading it all at once gives
six() {
    local student
    export ONLY="2 3" SEED=7 WHOLE=$BATS_FILE_TMPDIR/whole
    for student in a b c d e f; do
        mkdir "$CLASS/$student"
        cp solutions/0[23]_*.c "$CLASS/$student"
    done
    [ -e "$WHOLE" ] || as_typed OUT="$WHOLE" tests/grading/grade.sh class >"$WHOLE.txt" ||
        miss "$(cat "$WHOLE.txt")"
}
# begun N: waits for N grades
begun() {
    grades_of() { [ "$(find "$OUT/students" -name grade.json | wc -l)" -ge "$1" ]; }
    within_reason grades_of "$1" || miss "There are no $1 grades."
}
nothing_grades() { [ -z "$(gradings)" ]; }
start_class() {
    rm -f "$OUT.pid"
    as_typed bash -c 'echo $$ >"$OUT.pid"; exec tests/grading/grade.sh class' \
        >"$OUT.log" 2>&1 3>&- &
    queue=$!
    within_reason test -s "$OUT.pid"
}

# bats test_tags=long
@test "count = best: what is handed in later is kept beside what was; other seeds grade all again" {
    export ONLY=06
    result() { jq -c '.[0] | [.result, .points]' "$OUT/class.json"; }
    course '[course]' 'count = best'
    mkdir -p "$CLASS/ada"
    cp solutions/06_trim.c "$CLASS/ada"
    SEED=3 accepted tests/grading/grade.sh class
    cp lessons/06_trim.c "$CLASS/ada"
    SEED=3 run as_typed tests/grading/grade.sh class
    assert_equal "$(jq .points "$OUT/students/ada/grade.json")" 0
    assert_equal "$(result)" "[100,$(possible 06_trim)]"
    SEED=4 run as_typed tests/grading/grade.sh class
    assert_equal "$(result)" "[100,$(possible 06_trim)]"
    run bash -c "cat '$OUT'/students/ada/submissions/*/grade.json | jq -s 'map(.seed)' -c"
    assert_output "[4,4]"
    course '[course]'
    SEED=4 run as_typed tests/grading/grade.sh class
    assert_equal "$(result)" '[0,0]'
}

# bats test_tags=long
@test "kill -9 at any point: nothing goes on grading, and the next call gives the same bytes" {
    local queue grades
    bwrap --die-with-parent --unshare-pid --dev-bind / / --proc /proc true 2>/dev/null ||
        skip "bubblewrap does not work here, so a process may outlive its class"
    six
    for grades in 0 1 3; do
        start_class
        begun "$grades"
        kill -KILL "$(cat "$OUT.pid")"
        wait "$queue" || true
        within_reason nothing_grades || miss "These go on: $(gradings)"
    done
    assert [ "$(find "$OUT/students" -name grade.json | wc -l)" -lt 6 ]
    accepted tests/grading/grade.sh class
    run diff -r -x 'joblog*' "$WHOLE" "$OUT"
    assert_output ""
    run compgen -G "build/check/class.$(printf '%s' "$OUT" | sha256sum | cut -c 1-12).*"
    assert_output ""
}

# bats test_tags=long
@test "an interrupt ends all and leaves nothing in build/check; two gradings do not mix" {
    local queue
    six
    start_class
    begun 1
    refused "another grading writes there" tests/grading/grade.sh class
    kill -TERM "$(cat "$OUT.pid")"
    wait "$queue" && miss "The exit status is 0."
    within_reason nothing_grades || miss "These go on: $(gradings)"
    run compgen -G "build/check/class.$(printf '%s' "$OUT" | sha256sum | cut -c 1-12).*"
    assert_output ""
    assert_file_not_exists "$OUT/class.csv"
}

# bats test_tags=long
@test "a job array: two batches and a collecting step give what one call gives" {
    six
    for part in 0 1; do
        accepted tests/grading/grade.sh class batch "$part" 2
        assert_file_not_exists "$OUT/class.csv"
    done
    collect
    run diff -r -x 'joblog*' -x 'lock*' "$WHOLE" "$OUT"
    assert_output ""
}
