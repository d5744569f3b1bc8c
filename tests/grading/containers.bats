#!/usr/bin/env bats
# Runs the examples of docs/course in places like the containers of Gradescope, PrairieLearn, GitLab
# and Docker, where no sandbox can be made, because there are no namespaces and no CAP_SYS_ADMIN.
# The commands are taken from the files of the examples. No service is called.
#
# Solutions have all points, hostile files have none, and what these want to read is not in what a
# student gets.

# bats file_tags=long
load ../suite

setup_file() {
    export ONLY="04 06" SECRET=no-student-may-see-this-4711 PLACE=$BATS_FILE_TMPDIR/place
    mkdir "$PLACE"
    chmod 755 "$PLACE"
    LACKS=$(tests/grading/attacks/container.sh "$PLACE" true 2>&1) || true
    export LACKS
}
setup() {
    [ -z "$LACKS" ] || skip "$LACKS"
    root=$BATS_TEST_TMPDIR/place
    # The user of the programs may enter the folders above.
    mkdir -p "$root/root"
    chmod 755 "$root"
    echo "$SECRET" >"$root/root/secret"
    chmod 600 "$root/root/secret"
}

# a_workbook FOLDER: a copy as the examples make it, with docs/course; the files that no student may
# read have the secret in them
a_workbook() {
    local file
    mkdir -p "$1"
    grading_copy "$1"
    mkdir -p "$1/docs" "$1/.git"
    cp -a docs/course "$1/docs"
    echo "$SECRET" >"$1/.git/config"
    for file in "$1"/solutions/*.c; do echo "/* $SECRET */" >>"$file"; done
}

# hostile FOLDER WORKBOOK OTHER: one student's files, each of which tries to read what is not theirs
hostile() {
    local number=0 path names
    mapfile -t names < <(lessons)
    mkdir -p "$1"
    a_file() {
        printf '%s\n' "${@:2}" >"$1/${names[number]}.c"
        number=$((number + 1))
    }
    for path in "$2/solutions/06_trim.c" ../../solutions/06_trim.c ../solutions/06_trim.c \
        /root/secret /etc/shadow "$3" "$2/.git/config" /proc/self/environ; do
        a_file "$1" "#include \"$path\""
        a_file "$1" '#include "workbook.h"' \
            "__asm__(\".section .rodata\\nit: .incbin \\\"$path\\\"\\n.byte 0\\n.text\");" \
            'extern const char it[];' 'int main(void) { puts(it); return cudaDeviceSynchronize(); }'
    done
    a_file "$1" "#define PART(a) #a" "#define NAME(a) PART(a)" \
        "#include NAME($2/solutions/06_trim.c)"
    a_file "$1" '#include "workbook.h"' 'int system(const char *);' \
        "int main(void) { return system(\"cat $2/solutions/06_trim.c $3 /root/secret\"); }"
    a_file "$1" '#include "workbook.h"' \
        "int main(void) { FILE *f = fopen(\"$3\", \"r\"); char s[99]; fgets(s, 99, f); puts(s);" \
        'return cudaDeviceSynchronize(); }'
    # Two files that an assembler would read, and one of which the compiler would quote a line.
    a_file "$1" "__asm__(\".include \\\"$3\\\"\");" 'int main(void) { return 0; }'
    a_file "$1" "#ident \"a\\\"\\n.include \\\"$2/solutions/06_trim.c\\\"\\n.ident \\\"b\"" \
        'int main(void) { return 0; }'
    a_file "$1" "#line 1 \"$3\"" 'int main(void) { return absent; }'
    [ "$number" = 22 ] && [ "${#names[@]}" -ge 22 ]
}
# no_point GRADE: each of the hostile files was judged or refused, and has no point
no_point() {
    run jq -c '[([.lessons[] | select(.status != "missing")] | length), .points,
        ([.lessons[] | select(.status == "ungraded")] | length)]' "$1"
    assert_output "[22,0,0]"
}

container() { as_typed tests/grading/attacks/container.sh "$root" "$1"; }
in_place() { run container "$1" && assert_success; }
# not_in_place WORDS COMMAND: it ends with status 2, with these words
not_in_place() { run container "$2" && assert_failure 2 && assert_output --partial "$1"; }

# nothing_read FILE...: none of them has the secret, or a line of /etc/shadow
nothing_read() {
    local line
    line=$(grep -m 1 '^root:' /etc/shadow)
    run grep -rlaF -e "$SECRET" -e "$line" "$@"
    assert_output ""
}

@test "such a place makes no namespace, and grading refuses there without SANDBOX=none" {
    a_workbook "$root/workbook"
    mkdir "$root/student"
    cp solutions/06_trim.c "$root/student"
    refute container 'unshare --user true || unshare --mount true || bwrap --dev-bind / / true'
    not_in_place "this machine allows no sandbox" \
        'make -C /workbook grade STUDENT=/student OUT=/grade ONLY=06'
    # A workbook that is open to others has solutions that could be read.
    not_in_place "chmod 700 '/workbook'" \
        'make -C /workbook grade STUDENT=/student OUT=/grade ONLY=06 SANDBOX=none'
    assert_file_not_exists "$root/grade/grade.json"
}

@test "Gradescope: setup.sh and run_autograder of the archive that make gradescope makes" {
    local results=$root/autograder/results/results.json
    as_typed make -s gradescope OUT="$BATS_TEST_TMPDIR/autograder.zip" BACKEND=simulator
    mkdir -p "$root/autograder/source"
    (cd "$root/autograder/source" && unzip -q "$BATS_TEST_TMPDIR/autograder.zip")
    mkdir "$root/autograder/source/workbook/build"
    copy_built "$root/autograder/source/workbook"
    cp "$root/autograder/source/run_autograder" "$root/autograder"
    in_place "ONLY= bash /autograder/source/setup.sh"
    mkdir "$root/autograder/submission"
    cp solutions/*.c "$root/autograder/submission"
    in_place "cd /autograder && ./run_autograder"
    run jq -c '[.score == ([.tests[].max_score] | add),
        (.tests[1].number | test("^[0-9]{2}\\.2$"))]' "$results"
    assert_output '[true,true]'
    # The seed is drawn, and no student's business.
    assert_regex "$(jq -r .output "$results")" ' points\. Workbook [0-9a-z]+\.$'
    assert [ "$(jq .seed "$root/autograder/grade/grade.json")" -gt 1 ]
    rm -rf "$root"/autograder/{submission,results}
    hostile "$root/autograder/submission" /autograder/source/workbook \
        /autograder/submission/other.c
    echo "$SECRET" >"$root/autograder/submission/other.c"
    ONLY='' in_place "cd /autograder && ./run_autograder"
    no_point "$root/autograder/grade/grade.json"
    assert_equal "$(jq .score "$results")" 0
    nothing_read "$root/autograder/results" "$root/autograder/grade"
}

@test "an ordinary user has no sandbox there, and feedback quotes no other file nevertheless" {
    a_workbook "$root/workbook"
    hostile "$root/student" /workbook /other.c
    echo "$SECRET" >"$root/other.c"
    mkdir "$root/grades"
    chmod 700 "$root/workbook"
    chown -R 1234:1234 "$root"/{workbook,student,grades,other.c}
    ONLY='' in_place 'setpriv --reuid=1234 --regid=1234 --clear-groups env HOME=/tmp \
        make -C /workbook grade STUDENT=/student OUT=/grades/hostile SANDBOX=none'
    no_point "$root/grades/hostile/grade.json"
    nothing_read "$root/grades"
}

@test "PrairieLearn's grade.sh, and a class, in the image that the Dockerfile makes" {
    local results=$root/grade/results/results.json numbers command number
    # What the Dockerfile does, except for its FROM.
    a_workbook "$root/workbook"
    sed -zE 's/\\\n//g' docs/course/Dockerfile | sed -nE 's/^RUN //p' >"$root/image.sh"
    in_place "set -e; ONLY=; . /image.sh"
    assert_file_not_exists "$root/workbook/solutions/06_trim.c"

    mkdir -p "$root/grade/student"
    cp solutions/06_trim.c "$root/grade/student"
    in_place "/workbook/docs/course/prairielearn/grade.sh 06"
    assert_equal "$(jq -c '[.gradable, .score]' "$results")" '[true,1]'
    # A file that does not compile costs no attempt.
    echo 'int main(void) { return absent; }' >"$root/grade/student/06_trim.c"
    in_place "/workbook/docs/course/prairielearn/grade.sh 06"
    run jq -c '[.gradable, (.format_errors[0] | test("absent")), has("score")]' "$results"
    assert_output '[false,true,false]'
    rm -rf "$root/grade"
    hostile "$root/grade/student" /workbook /grade/other.c
    echo "$SECRET" >"$root/grade/other.c"
    numbers=$(lessons | cut -c 1-2 | tr '\n' ' ')
    in_place "/workbook/docs/course/prairielearn/grade.sh '$numbers'"
    no_point "$root/tmp/grade/grade.json"
    assert_equal "$(jq '.score // 0' "$results")" 0
    nothing_read "$root/grade/results" "$root/tmp/grade"

    command=$(sed -nE 's/^# *(make -C .workbook grade-class.*)/\1/p' docs/course/Dockerfile)
    mkdir -p "$root/class/ada"
    # The other student has files of all lessons.
    for number in 08 ${ONLY:-0 1 2}; do cp solutions/"$number"*.c "$root/class/ada"; done
    echo "/* $SECRET */" >>"$root/class/ada/08_stream_order.c"
    hostile "$root/class/hostile" /workbook /class/ada/08_stream_order.c
    ONLY='' in_place "$command"
    run jq -c '[.lessons[] | select(.status != "missing") | .points == .possible] | unique' \
        "$root/grades/students/ada/grade.json"
    assert_output "[true]"
    no_point "$root/grades/students/hostile/grade.json"
    nothing_read "$root/grades"
}

@test "GitLab: the script of the pipeline" {
    a_workbook "$root/source"
    mkdir -p "$root/builds"
    # The commands in the list "script", with continued lines joined.
    sed -nE '/^  script:/,/^  artifacts:/p' docs/course/gitlab.yml |
        sed -nE '/^ +#/d; s/^    - /\n/p; s/^      / /p' | sed -z 's/\n \+/ /g' >"$root/pipeline.sh"
    pipeline() {
        rm -rf "$root/workbook" "$root/builds/student"
        cp -r "$1" "$root/builds/student"
        run container "set -e; cd /builds/student; . /pipeline.sh"
    }
    mkdir "$BATS_TEST_TMPDIR/ada"
    cp solutions/*.c "$BATS_TEST_TMPDIR/ada"
    pipeline "$BATS_TEST_TMPDIR/ada"
    assert_success
    assert_equal "$(jq -c '.points == .possible' "$root/builds/student/grade/grade.json")" true
    # A pipeline fails below full points.
    hostile "$BATS_TEST_TMPDIR/hostile" /workbook /builds/student/other.c
    ONLY='' pipeline "$BATS_TEST_TMPDIR/hostile"
    assert_equal "$status" 1
    no_point "$root/builds/student/grade/grade.json"
    nothing_read "$root/builds/student/grade"
}
