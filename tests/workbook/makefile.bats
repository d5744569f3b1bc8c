#!/usr/bin/env bats
# The commands of the Makefile, as a person types them. What they set up is in setup.bats, what the
# checks judge in checks.bats.

# bats file_tags=long
load ../tools/helpers

setup() {
    mkdir "$BATS_TEST_TMPDIR/bin"
    stub nvidia-smi
}

# Commands in front of PATH that write each call down and fail.
stub() {
    local command folder=$BATS_TEST_TMPDIR
    for command in "$@"; do
        printf '#!/bin/sh\necho %s >>%s\nexit 1\n' "$command" "$folder/calls" \
            >"$folder/bin/$command"
        chmod +x "$folder/bin/$command"
    done
}

# A machine without a GPU, whatever this one has.
no_gpu() { as_typed PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$@"; }

@test "make help names every command of the Makefile" {
    run as_typed make help
    assert_success
    for command in run test test-all 06 solution-06 check-06 hint-06 picture-06 trace-06 \
        clinic-03 check-clinic-03 \
        repaired-03 watch grade grade-class book list new-lesson format docs simulator headers \
        bench scale clean help; do
        assert_line --regexp "^make $command +[a-z]"
    done
    assert_output --partial BACKEND
    run as_typed make
    assert_line --partial "make run"
}

@test "make list: the solutions, in order" {
    run as_typed make list
    assert_success
    assert_output "$(basename -s .c solutions/[0-9][0-9]_*.c | sort)"
}

@test "a lesson that does not exist: the list of lessons" {
    for goal in 99 check-99 solution-99 hint-99 nonsense; do
        run as_typed make "$goal"
        assert_failure
        assert_line --partial "make $goal: there is no such command"
        for lesson in $(lessons); do assert_line --partial "$lesson"; done
    done
}

@test "make run runs every solution in order, also with -j4, and says the backend first" {
    run no_gpu make -j4 run
    assert_success
    assert_line --index 0 --regexp '^Backend: simulator \((no nvcc|neither nvidia-smi) .*\)$'
    assert_equal "$(grep '^== ' <<<"$output" | cut -c 4-)" "$(lessons)"
}

@test "make run goes on behind a lesson that this machine cannot run, and says why" {
    run no_gpu SIM_DEVICES=1 make run
    assert_success
    assert_line --regexp '^skipped: '
}

@test "make 01, make 1, ARGS, make solution-01: the program's own output after the backend" {
    local lesson number
    lesson=$(first)
    number=${lesson%%_*}
    run no_gpu make "solution-$number" BACKEND=simulator
    assert_success
    assert_line --index 0 "Backend: simulator (BACKEND=simulator)"
    assert_equal "$(tail -n +2 <<<"$output")" "$(cat "tests/lessons/expected/$lesson.txt")"
    assert_equal "$(no_gpu make "solution-${number#0}" BACKEND=simulator)" "$output"
    run no_gpu make "solution-$number" ARGS=nonsense
    assert_failure
    assert_output --partial '"nonsense"'
    run no_gpu make "$number"
    assert_line --partial "Backend: simulator"
    assert_equal "$(no_gpu make "${number#0}" 2>&1 | sed 's/\[.*//')" \
        "$(sed 's/\[.*//' <<<"$output")"
}

@test "FILE=mine.c takes the place of a lesson's file, wherever it lies" {
    local lesson number mine=$BATS_TEST_TMPDIR/mine.c
    lesson=$(first)
    number=${lesson%%_*}
    printf '#include <stdio.h>\nint main(void) { puts("my own"); }\n' >"$mine"
    run no_gpu make "$number" FILE="$mine"
    assert_success
    assert_line "my own"
    run as_typed make "check-$number" FILE="$mine"
    assert_failure
    assert_line "        See it yourself: make $number FILE=$mine"
    cp "solutions/$lesson.c" build/mine.c
    run no_gpu make "$number" FILE=build/mine.c BACKEND=simulator
    assert_equal "$(tail -n +2 <<<"$output")" "$(cat "tests/lessons/expected/$lesson.txt")"
    run as_typed make "${number#0}" FILE=nowhere.c
    assert_failure
    assert_output --partial "FILE=nowhere.c: there is no such C file"
}

@test "make hint-03: one more a call, HINTS=0 begins again, and so does a lesson that passes" {
    local copy=$BATS_TEST_TMPDIR/copy
    workbook_copy "$copy"
    mkdir "$copy/docs"
    cd "$copy" || return 1
    printf '%s\n' Title ===== '' '.. dropdown:: Hint 1' '   :color: primary' '' \
        '   :path:`lessons/kernels.h` has ``launch_add``, for the :term:`order <stream>`,' \
        '   and see `a page <https://example.org>`_.' '' '   - one' '   - *two*' '' \
        '.. dropdown:: Hint 2' '' '   .. code-block:: c' '' '      if (a)' '          b();' '' \
        'Check' ----- >docs/03_stream_order.rst
    run as_typed make hint-03
    assert_success
    assert_output "Hint 1 of 2 for lesson 03:
    lessons/kernels.h has \`launch_add\`, for the order, and see a page
    (https://example.org).

    - one
    - two
One hint is left: make hint-03"
    run as_typed make hint-3
    assert_output "Hint 2 of 2 for lesson 03:
       if (a)
           b();
This was the last hint."
    run as_typed make hint-3
    assert_success
    assert_output --partial "you have seen all of them. make hint-03 HINTS=0 begins again."
    run as_typed make hint-03 HINTS=0
    assert_line "Hint 1 of 2 for lesson 03:"
    run as_typed make hint-03 HINTS=all
    assert_failure
    assert_output --partial "HINTS=all: give the number"
    run as_typed make check-03 FILE=solutions/03_stream_order.c
    assert_success
    run as_typed make hint-03
    assert_line "Hint 1 of 2 for lesson 03:"
}

@test "every hint of the book is plain text in 84 columns" {
    local lesson number count output copy=$BATS_TEST_TMPDIR/copy
    mkdir -p "$copy/tests/tools"
    cp tests/tools/hint.sh "$copy/tests/tools"
    ln -s "$ROOT/docs" "$copy"
    for lesson in $(lessons); do
        count=$(grep -c '^\.\. dropdown:: Hint ' "docs/$lesson.rst")
        for ((number = 0; number < count; number++)); do
            output=$("$copy/tests/tools/hint.sh" "$lesson" "$number")
            [ "$(wc -l <<<"$output")" -ge 3 ] || complain "$lesson, hint $((number + 1)): $output"
            ! grep -nE '``|:[a-z]+:`|_`|\*\*|^ *\.\. |.{85}' <<<"$output" ||
                complain "$lesson, hint $((number + 1)) is not plain."
        done
    done
    finish
}

@test "open.sh: names the page, opens it with OPEN or where a display is" {
    local copy=$BATS_TEST_TMPDIR/copy page
    mkdir -p "$copy/tests/tools" "$copy/bin"
    cp tests/tools/open.sh "$copy/tests/tools"
    page=$copy/build/docs/html/index.html
    cd "$copy" || return 1
    run env -u DISPLAY tests/tools/open.sh index
    assert_failure
    assert_output "The book is not built. make book builds and opens it."
    mkdir -p "${page%/*}"
    : >"$page"
    printf '%s\n' '#!/bin/sh' 'echo "$0 $1" >>opened' >bin/browser
    chmod +x bin/browser
    cp bin/browser bin/xdg-open
    opened() {
        for _ in {1..50}; do [ ! -s opened ] || break; sleep 0.1; done
        cat opened
        : >opened
    }
    run env -u DISPLAY -u WAYLAND_DISPLAY PATH="$copy/bin:$PATH" tests/tools/open.sh index
    assert_success
    assert_output "Open: $page"
    run env DISPLAY=:0 OPEN= PATH="$copy/bin:$PATH" tests/tools/open.sh index
    assert_output "Open: $page"
    assert_file_not_exists opened
    DISPLAY=:0 PATH="$copy/bin:$PATH" tests/tools/open.sh index 3>&-
    assert_equal "$(opened)" "$copy/bin/xdg-open $page"
    OPEN=browser PATH="$copy/bin:$PATH" tests/tools/open.sh index 3>&-
    assert_equal "$(opened)" "$copy/bin/browser $page"
    run env OPEN=nothing-of-the-kind tests/tools/open.sh index
    assert_failure
    assert_output --partial "OPEN=nothing-of-the-kind: there is no such program."
}

@test "the first build says what it does, the next one nothing" {
    local copy=$BATS_TEST_TMPDIR/copy
    workbook_copy "$copy"
    rm -r "$copy/build/simulator"
    cd "$copy" || return 1
    # A compiler that writes empty files: what make says is judged.
    printf '%s\n' '#!/bin/sh' 'while [ "$1" != -o ]; do shift; done' ': >"$2"' >compiler
    chmod +x compiler
    run as_typed make CC=./compiler simulator
    assert_output "Compiling the simulated device into build/simulator."
    run as_typed make CC=./compiler simulator
    assert_output ""
}

@test "BACKEND=gpu without a GPU, or a backend that is unknown, is an error" {
    run no_gpu make run BACKEND=gpu
    assert_failure
    assert_output --partial "BACKEND=gpu, but n"
    for command in run test check-01 01; do
        run no_gpu make "$command" BACKEND=cpu
        assert_failure
        assert_output --partial "BACKEND=cpu is not valid"
    done
}

@test "make scale: a row with its figures, and one in which a call fails" {
    run as_typed make scale ARGS="20 events"
    assert_success
    assert_line --regexp '^[ *] events: make, record, wait +1000( +[0-9.]+){8}$'
    refute_line --regexp '^[ *] loop'
    run as_typed SIM_FAIL=cudaEventCreateWithFlags:2000 make scale ARGS="20 events"
    assert_success
    assert_line --regexp '^\* events: .* 1000 +[0-9.]+ +- +- .* cudaErrorMemoryAllocation in line'
}

@test "a CUDA_HOME without headers is an error of make" {
    run as_typed CUDA_HOME=/not/there make run
    assert_failure
    assert_output --partial "CUDA_HOME is /not/there"
}

@test "after an edit only the lesson is built, in 2 seconds of processor time" {
    local lesson copy=$BATS_TEST_TMPDIR/copy
    lesson=$(first)
    workbook_copy "$copy"
    cd "$copy" || return 1
    no_gpu make -s simulator
    touch -r build/simulator/libcudart.so.13 library
    sed 's/int main/\n&/' "solutions/$lesson.c" >"lessons/$lesson.c"
    local TIMEFORMAT='%U %S'
    { time run no_gpu make "${lesson%%_*}"; } 2>took
    assert_success
    [ ! build/simulator/libcudart.so.13 -nt library ] ||
        miss "The simulated device was linked again."
    awk '{ exit $1 + $2 > 2 }' took ||
        miss "It took $(<took) seconds of processor time (user, system)."
    # An older program that was built from another text must not run in its place.
    printf '#include <stdio.h>\nint main(void) { puts("new text"); }\n' >"lessons/$lesson.c"
    run no_gpu make "${lesson%%_*}"
    assert_line "new text"
}

@test "a changed header of the simulated device rebuilds what includes it, and only that" {
    local copy=$BATS_TEST_TMPDIR/copy header users built
    workbook_copy "$copy"
    cd "$copy" || return 1
    make -s simulator
    # What make does is asked, not what the compiler does: this one writes empty files, at once.
    printf '%s\n' '#!/bin/sh' 'while [ "$1" != -o ]; do shift; done' ': >"$2"' >compiler
    chmod +x compiler
    header=simulator/check/page_guard.h
    users=$(grep -l " $header" build/simulator/objects/*/*.d | wc -l)
    [ "$users" -gt 2 ]
    touch mark
    touch "$header"
    run make CC=./compiler simulator
    assert_success
    assert_output ""
    built=$(find build/simulator/objects -name '*.o' -newer mark | wc -l)
    assert_equal "$built" "$users"
    assert [ build/simulator/libcudart.so.13 -nt mark ]
}

@test "with everything present, nothing is fetched or installed" {
    rm "$BATS_TEST_TMPDIR/bin/nvidia-smi"
    stub apt-get sudo pip pip3 python3 curl wget
    run as_typed PATH="$BATS_TEST_TMPDIR/bin:$PATH" make run
    assert_success
    run as_typed PATH="$BATS_TEST_TMPDIR/bin:$PATH" make "check-$(first | cut -c 1-2)" \
        FILE="solutions/$(first).c" CHECK_FOLDER=build/check/quiet
    assert_success
    assert_file_not_exists "$BATS_TEST_TMPDIR/calls"
}

@test "the report: a plan of zero tests, tests that did not run, no plan at all are failures" {
    report() { run awk -f tests/tools/report.awk <<<"$1"; }
    report $'1..2\nok 1 one\nok 2 two'
    assert_success
    assert_line --index 2 "2 passed, 0 failed"
    report $'1..3\nok 1 one\nnot ok 2 two\n# why\nok 3 three # skip no GPU'
    assert_failure
    assert_line "        why"
    assert_line "  skip  three: no GPU"
    assert_equal "$(printf '%s\n' "${lines[@]: -4}")" \
        $'The failures again:\n  MISS  two\n        why\n1 passed, 1 failed, 1 skipped'
    assert_equal "${lines[-1]}" "1 passed, 1 failed, 1 skipped"
    report '1..0'
    assert_failure
    assert_line "No test ran."
    report ''
    assert_failure
    report $'1..3\nok 1 one'
    assert_failure
    assert_equal "${lines[-1]}" "1 passed, 2 failed"
}
