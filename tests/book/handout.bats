#!/usr/bin/env bats
# What students get (make handout) and what a grading server gets (make gradescope): that they work,
# and that nothing in them has a line of a solution.

# bats file_tags=long
load ../suite

setup_file() {
    local command
    export COPY=$BATS_FILE_TMPDIR/copy
    # readme.bats types README's other commands.
    command=$(sed -n 's/^\$ \(make handout OUT=\)students\.zip .*/\1/p' README.md)
    as_typed bash -c "$command$BATS_FILE_TMPDIR/fresh.zip" >"$BATS_FILE_TMPDIR/made" 2>&1 || {
        cat "$BATS_FILE_TMPDIR/made" >&3
        return 1
    }
    (cd "$BATS_FILE_TMPDIR" && unzip -q fresh.zip)
    cp -a "$BATS_FILE_TMPDIR/fresh" "$COPY" # in which commands build something
    mkdir "$COPY/build"
    copy_built "$COPY"
}

setup() { cd "$COPY" || return 1; }

# secret_programs: the programs that students may not see
secret_programs() {
    (
        cd "$ROOT" || return 1
        basename -as _wrong.c docs/clinic/*_wrong.c | sed 's|.*|build/repairs/&.c|' |
            xargs make -s BACKEND=simulator
        ls "$ROOT"/solutions/*.c "$ROOT"/build/repairs/*.c
    )
}

# search FOLDER: lines of solutions in it
search() {
    local programs
    mapfile -t programs < <(secret_programs)
    [ "${#programs[@]}" -ge 33 ] || complain "Only ${#programs[@]} programs are secret."
    run python3 -B "$ROOT/tests/book/leaks.py" "$1" "${programs[@]}"
}

@test "no file of a student's copy has a line that only a solution or a repair has" {
    search "$BATS_FILE_TMPDIR/fresh"
    assert_success
    assert_line --regexp '^[5-9][0-9]{2} files, [2-9][0-9]{2} lines, 0 found$'
    run find "$BATS_FILE_TMPDIR/fresh" -name .git -o -name solutions -o -name '*_right.c' -o \
        -name '*.patch' -o -name variants.txt -o -name mutants -o -name '*.wasm'
    assert_output ""
}

@test "the search finds a solution's line in each kind of file" {
    local place=$BATS_TEST_TMPDIR/place kind
    python3 -B - "$place" "$ROOT/solutions/08_stream_order.c" <<'PY'
import base64, gzip, html, json, sys
from pathlib import Path
place, text = Path(sys.argv[1]), Path(sys.argv[2]).read_text()
place.mkdir()
def put(name, data):
    (place / name).write_bytes(data if isinstance(data, bytes) else data.encode())
put("text.c", text)
put("diff.txt", "".join(f"+{line}\n" for line in text.splitlines()))
put("marked.html", "".join(
    f'<a href="#">{number}</a><b>{html.escape(line[:9])}</b>{html.escape(line[9:])}\n'
    for number, line in enumerate(text.splitlines())))
put("attribute.html", f'<div data-runs="{html.escape(json.dumps([text]))}"></div>')
put("script.js", f"window.runs = {json.dumps(text)};")
put("journal.jsonl", json.dumps({"source": text}))
put("archive.gz", gzip.compress(text.encode()))
put("inline.svg", b"<img src='data:text/plain;base64," + base64.b64encode(text.encode()) + b"'>")
PY
    search "$place"
    assert_failure
    for kind in "$place"/*; do
        assert_line --regexp "^${kind//./\\.}: (.*cudaStreamWaitEvent|it is packed$)"
    done
}

@test "the students' book says what it teaches, and shows no solution, mistake or empty fold" {
    run grep -rlE 'What the solution changes|>Our repair<' book
    assert_output ""
    run find book -path '*/solutions/*' -o -path '*/mutants/*'
    assert_output ""
    assert_file_exists book/listings/lessons/08_stream_order.html
    run grep -c 'class="stepper"' book/08_stream_order.html
    assert_output 1
    assert_equal "$(grep -oE '"the starter"|&quot;the solution&quot;' book/08_stream_order.html |
        grep -c solution)" 0
    assert_equal "$(find book -name '08_stream_order.html' | wc -l)" 2
}

@test "a student's commands work in the copy" {
    local command
    refused "synchronized     42 in 0 of 2097152 elements" make 01 BACKEND=simulator
    refused "The page: book/01_first_allocation.html" make check-01
    run as_typed make hint-01
    assert_line "Hint 1 of 3 for lesson 01:"
    run as_typed make picture-01 OPEN= BACKEND=simulator
    if [[ $output != *"could not be fetched"* ]]; then # a picture needs a package of PyPI
        assert_success
        assert_file_exists build/pictures/01_first_allocation.html
    fi
    run as_typed make clinic-03 BACKEND=simulator
    assert_line --partial "hazard: "
    accepted make grade ONLY=1 OUT="$BATS_TEST_TMPDIR/grade"
    assert_line --regexp '^points +0 of +6 '
    run as_typed timeout 20 make watch
    assert_line --partial "page: book/01_first_allocation.html"
    run as_typed make mine FILE=lessons/01_first_allocation.c
    assert_line --partial "synchronized     42 in 0 of 2097152 elements"
    cp "$ROOT/solutions/01_first_allocation.c" lessons
    accepted make check-01
    cp "$BATS_FILE_TMPDIR/fresh/lessons/01_first_allocation.c" lessons
}

@test "a case of the clinic is judged in the copy, which has no repair to run" {
    local repair
    repair=$(secret_programs | grep -m 1 03_barrier)
    accepted make check-clinic-03 FILE="$repair"
    assert_line "Case 03 is repaired."
}

@test "what the copy lacks is said in a sentence, and is not in its help" {
    local goal
    for goal in run solution-04 solution-4 repaired-03 book docs test; do
        refused "make $goal: this copy of the workbook has no solutions" make "$goal"
        assert_equal "${#lines[@]}" 1
    done
    run as_typed make help
    refute_output --regexp 'solution|repaired|make (run|book|test|gpu)|grade-class'
    for goal in 01 check-01 hint-01 picture-01 watch clinic-03 mine grade; do
        assert_output --regexp "make $goal "
    done
}

@test "each command in the README and the help of the copy is one that it has" {
    local command commands file
    mapfile -t commands < <({ sed -n 's/`make\|^\$ make/make/gp' README.md && make help; } |
        grep -oE '\bmake [a-z0-9-]+' | sed 's/make //' |
        grep -vE '^(solution-04|repaired-03)$' | sort -u)
    [ "${#commands[@]}" -ge 9 ]
    for command in "${commands[@]}"; do
        file=()
        [ "$command" != mine ] || file=(FILE=lessons/01_first_allocation.c)
        accepted make -n "$command" "${file[@]}"
    done
}

@test "OUT: a folder has the same files as a zip file, and one with other files stays as it is" {
    local folder=$BATS_TEST_TMPDIR/students other=$BATS_TEST_TMPDIR/other
    cd "$ROOT" || return 1
    accepted python3 -B tools/packages.py handout "$BATS_FILE_TMPDIR/fresh/book" "$folder"
    diff -r "$folder" "$BATS_FILE_TMPDIR/fresh"
    mkdir "$other"
    echo mine >"$other/notes"
    run as_typed python3 -B tools/packages.py handout "$BATS_FILE_TMPDIR/fresh/book" "$other"
    assert_failure 1
    assert_output --partial "OUT=$other: this folder has other files in it"
    assert_equal "$(ls "$other")" notes
    # That is known before minutes of work, and so is where the result will be.
    local command out
    refused "x.tar: a students' copy is a folder or a zip file" \
        make handout OUT="$BATS_TEST_TMPDIR/x.tar"
    refute_output --partial "Building"
    for command in handout gradescope release; do
        for out in "$other" "$other/notes/result.zip"; do
            run as_typed make "$command" OUT="$out"
            assert_failure
            assert_line --regexp "^OUT=$out: "
            refute_output --partial "Building"
        done
    done
}

@test "a lesson that was edited here is handed out as it is delivered" {
    cmp "$BATS_FILE_TMPDIR/fresh/lessons/06_trim.c" "$ROOT/build/starters/06_trim.c"
}

@test "make gradescope: the archive has its scripts and what grades, and no solution" {
    local zip=$BATS_TEST_TMPDIR/autograder.zip
    cd "$ROOT" || return 1
    accepted make gradescope OUT="$zip"
    assert_line --index 0 "make gradescope writes $zip. Another place: OUT=FILE.zip"
    mkdir "$BATS_TEST_TMPDIR/source"
    (cd "$BATS_TEST_TMPDIR/source" && unzip -q "$zip")
    run ls "$BATS_TEST_TMPDIR/source"
    assert_output "run_autograder"$'\n'"setup.sh"$'\n'"workbook"
    assert [ -x "$BATS_TEST_TMPDIR/source/run_autograder" ]
    search "$BATS_TEST_TMPDIR/source"
    assert_success
    refused "Gradescope takes a zip file" make gradescope OUT="$BATS_TEST_TMPDIR/folder"
    mkdir "$BATS_TEST_TMPDIR/folder.zip"
    refused "OUT=/dev/null is a pipe, a socket or a device." make handout OUT=/dev/null
    refused "OUT=$BATS_TEST_TMPDIR/folder.zip is a folder. Name a file that ends with .zip." \
        make gradescope OUT="$BATS_TEST_TMPDIR/folder.zip"
}
