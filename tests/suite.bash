# shellcheck shell=bash
# What the workbook's own tests share: the Bats libraries, a book that is built once, a copy of the
# workbook to break, the judgment of a file, and a list of complaints. "load ../suite" sources it.

cd "${BASH_SOURCE[0]%/*}/.." || exit 1
ROOT=$PWD
unset MAKEFLAGS MAKELEVEL MFLAGS   # a make that runs the suite gives nothing to the makes inside it
export WORKBOOK_PROGRESS=none      # a check by a test is not the reader's progress
unset COLUMNS                      # a report has 100 columns

# Bats notes before each command where it is, which takes a fifth of the time of the tests. Where a
# command has failed is known to the trap of errors, too.
bats_debug_trap() { :; }
bats_error_trap() {
    bats_check_status_from_trap
    [ -n "$BATS_DEBUG_LAST_STACK_TRACE_IS_VALID" ] || bats_capture_stack_trace
    BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
}

# lines WORDS...: each on a line
lines() { printf '%s\n' "$@"; }

miss() {
    lines "$@"
    return 1
}

# words [FILE]: a program's output without what depends on the machine
words() { sed -E -f "$ROOT/tests/grading/machine.sed" "$@"; }

# Loads the Bats libraries from where Debian, Ubuntu or a person put them. Their own load.bash would
# start a process for each file.
load_libraries() {
    local library folder file
    for library in bats-support bats-assert bats-file; do
        for folder in /usr/lib/bats /usr/share/bats /usr/lib; do
            [ -e "$folder/$library/load.bash" ] || continue
            # shellcheck source=/dev/null
            for file in "$folder/$library"/src/*.bash; do source "$file"; done
            break
        done
    done
}
load_libraries

# tool NAME: sets $program to clang-format, ruff, shellcheck, codespell or proselint, or skips the
# test with the reason
tool() {
    # shellcheck disable=SC2034  # for the test
    program=$("$ROOT/tools/format.sh" where "$1" 2>"$BATS_TEST_TMPDIR/why") ||
        skip "$1 could not be had: $(tail -n 1 "$BATS_TEST_TMPDIR/why")"
}

# Skips a test that reads the list of the repository's files.
need_git_clone() {
    git rev-parse --git-dir >/dev/null 2>&1 ||
        skip "this copy is no git clone: its files are unknown"
}

# The book, built once in a run of the suite by the first test file that needs it, in $BOOK. What
# make docs printed is in $BOOK_OUTPUT, and why it failed in $BOOK_FAILED. BOOK_LACKS is set when
# Sphinx could not be installed.
build_book() {
    export BOOK=$ROOT/build/docs/html BOOK_OUTPUT=${SUITE_TMPDIR:-$BATS_RUN_TMPDIR}/book
    export BOOK_FAILED=$BOOK_OUTPUT.failed
    {
        flock 9
        [ -e "$BOOK_OUTPUT" ] || make_book
    } 9>"$BOOK_OUTPUT.lock"
    if [ -e "$BOOK_OUTPUT.lacks" ]; then
        BOOK_LACKS=$(<"$BOOK_OUTPUT.lacks")
        export BOOK_LACKS
    fi
}

make_book() {
    local lacks
    rm -rf "$BOOK"
    if as_typed make build/venv/docs >"$BOOK_OUTPUT" 2>&1 9>&-; then
        as_typed make docs >"$BOOK_OUTPUT" 2>&1 9>&- ||
            echo "make docs ended with status $?." >"$BOOK_FAILED"
        return
    fi
    lacks=$(grep -v '^make' "$BOOK_OUTPUT" | tail -n 2 | cut -c 1-300 | tr '\n' ' ')
    echo "${lacks:-no reason was given}" >"$BOOK_OUTPUT.lacks"
    # An index that has other versions, or another file of that name: then the list is at fault, and
    # not the network.
    ! grep -qE 'from versions: [0-9]|HASHES' "$BOOK_OUTPUT" ||
        echo "tools/requirements.txt does not serve this Python." >"$BOOK_FAILED"
}

# For setup: skips the test when there is no book. When it could not be built, only the first test
# in book.bats fails.
need_book() {
    [ ! -e "$BOOK_FAILED" ] || skip "the book was not built: see tests/book/book.bats"
    [ -z "${BOOK_LACKS:-}" ] || skip "Sphinx could not be installed: $BOOK_LACKS"
}

# Builds the book, and installs the tools that look at it: a browser, epubcheck, and what reads a
# PDF. Where they cannot be installed, BOOK_TOOLS_LACK has the reason.
build_book_and_tools() {
    build_book
    [ ! -e "$BOOK_FAILED" ] || return 0
    as_typed tools/setup.sh book >"$BATS_FILE_TMPDIR/setup" 2>&1 || {
        BOOK_TOOLS_LACK=$(tail -n 1 "$BATS_FILE_TMPDIR/setup" | cut -c 1-300)
        export BOOK_TOOLS_LACK
    }
}
need_book_and_tools() {
    need_book
    [ -z "${BOOK_TOOLS_LACK:-}" ] ||
        skip "the browser or epubcheck is missing: $BOOK_TOOLS_LACK"
}

# Sets CHROMIUM to the browser of this machine, or to "". The Python programs that drive the browser
# read the variable, too.
find_chromium() {
    CHROMIUM=$(python3 -SB "$ROOT/docs/extensions/book/chromium.py" 2>/dev/null) || true
    export CHROMIUM
}
need_chromium() { [ -n "$CHROMIUM" ] || skip "no Chromium here: apt-get install chromium"; }

# Runs a command as a person would type it, without what Bats put into the environment, because that
# would reach a make or a bats inside the command.
as_typed() {
    # Bats puts this folder into PATH; from 1.11 on, what is named bats there cannot be called.
    local word words=() own=${BATS_LIBEXEC:-/usr/libexec/bats-core}
    for word in "${!BATS_@}"; do words+=(-u "$word"); done
    for word in "PATH=$PATH" "$@"; do
        [[ $word != PATH=* ]] || word=${word//"$own:"/}
        words+=("$word")
    done
    env "${words[@]}" 3>&- 4>&-
}

# accepted COMMAND [ARGUMENT...]: as a person types it, it ends well
accepted() {
    run as_typed "$@"
    assert_success
}

# refused WORDS COMMAND [ARGUMENT...]: as a person types it, it ends with status 2, with these words
refused() {
    run as_typed "${@:2}"
    assert_failure 2
    assert_output --partial "$1"
}

# in_grader [ARGUMENT...]: the Python program on stdin, which imports the grader's modules
in_grader() { PYTHONPATH=tests/grading:tests/grading/attacks python3 -SB - "$@"; }

# Builds programs under a sanitizer: make_sanitized address,undefined simulator/tests/unit/flat...
make_sanitized() {
    local kind=$1
    shift
    make -s -C "$ROOT" BACKEND=simulator SANITIZE="$kind" "${@/#/build/simulator-${kind//,/-}/}"
}

# workbook_copy FOLDER: a copy of the workbook with what is built already, for tests that break
# something
workbook_copy() {
    mkdir -p "$1/build"
    cp -a Makefile lessons solutions simulator tests tools "$1"
    copy_built "$1"
}

# grading_copy FOLDER: only the part of the workbook that grades a file. On some disks it takes long
# to make many files.
grading_copy() {
    mkdir -p "$1"/{build,tests/lessons}
    cp -a Makefile lessons solutions simulator tools "$1"
    cp -a tests/{grading,build.mk} "$1/tests"
    cp -a tests/lessons/[0-9]*_* "$1/tests/lessons"
    copy_built "$1"
}

# in_copy KIND: makes such a copy, workbook or grading, in $copy, and goes there
# shellcheck disable=SC2317  # the tests call it
in_copy() {
    copy=$BATS_TEST_TMPDIR/copy
    "$1_copy" "$copy"
    cd "$copy" || return 1
}

# copy_built FOLDER: what is built already, so that a make there compiles nothing again. A clone or
# an archive may have given the sources there a later time.
copy_built() {
    find "$1" -type f -exec touch -r build/cuda/found {} +
    cp -a build/cuda "$1/build"
    mkdir "$1/build/simulator"
    cp -a build/simulator/{objects,*.inc,lib*} "$1/build/simulator"
}

# git_of_built FOLDER: puts a git there whose clones have what is built here already. That a clone
# without it builds is tested in checks.bats.
git_of_built() {
    mkdir -p "$1"
    cat >"$1/git" <<END
#!/bin/bash
$(declare -f copy_built)
"$(type -P git)" "\$@" || exit
[ "\$1" = clone ] || exit 0
clone=\$(realpath "\${!#}")
cd "$ROOT" && mkdir "\$clone/build" && copy_built "\$clone"
END
    chmod +x "$1/git"
}

# counted LESSON rules|given: how many rules its check has, or how many the starter meets
# possible LESSON: how many points it gives
counted() {
    local -A line=([rules]='^def test_' [given]='^@met_by_starter$')
    grep -c "${line[$2]}" "tests/lessons/$1/check.py"
}
possible() { echo $(($(counted "$1" rules) - $(counted "$1" given))); }

lessons() { make -s list; }
# The lesson on which a test tries what is the same for each
ROOMS=(tests/lessons/[0-9]*_*)
# shellcheck disable=SC2034  # for the test
FIRST=${ROOMS[0]##*/}

# folder_for FILE MARK: where a file is checked, named after its folder and itself, into $folder
folder_for() {
    local file=$PWD/${1%.c}
    folder=${file%/*}
    folder=build/check/${folder##*/}$2${file##*/}
}

# judge FILE LESSON [OPTION...]: sets $output to the first miss of FILE, and $status. It is quicker
# than check.
judge() {
    local folder
    folder_for "$1" -
    run as_typed CHECK_FOLDER="$folder" python3 -SB tests/grading/judge.py "$2" "$1" "${@:3}"
}

# check FILE LESSON: sets $output and $status to what a student sees who checks FILE
check() {
    local folder
    folder_for "$1" -
    run as_typed CHECK_FOLDER="$folder" make "check-${2%%_*}" FILE="$1"
}

# know_machine: for setup_file. Each time, grade.sh tries what the machine allows, which is half of
# the work of grading one lesson. Where this is not the subject of a test, it is tried once for all
# tests of a file:
#     GRADE_PROTECTED=$KNOWN tests/grading/grade.sh
# KNOWN is valid in this folder only, and empty where root would grade in a copy of it.
know_machine() {
    export KNOWN=
    local folder
    mkdir -p build/check
    folder=$(mktemp -d build/check/known.XXXXXX)
    chmod 755 "$folder"
    env -u CHECK_SECONDS -u CHECK_PROCESSES python3 -SB tests/grading/protect.py known "$folder" \
        >"$BATS_FILE_TMPDIR/known" && KNOWN=$BATS_FILE_TMPDIR/known
    rm -rf "$folder"
}

# know_compiler: for setup_file. make is asked once how a program is compiled, not for each. In a
# fresh clone it first makes what programs are compiled with.
know_compiler() {
    make -s simulator || return
    CHECK_COMPILER=$(make -s grader | sed -n 's/^compiler //p')
    export CHECK_COMPILER
}

# run_program JSON FOLDER [NAME=VALUE...] -- PROGRAM [ARGUMENT...]: runs a program as a check does.
# JSON is what else its description has (tests/grading/run.py), such as {"place": {"seal": true}}.
# Sets $status, and in $ended why it was stopped; or status 75, and a sentence about the machine.
run_program() {
    local description=$1 folder said pairs=()
    folder=$(realpath "$2")
    shift 2
    while [ "$1" != -- ]; do pairs+=("$1") && shift; done
    shift
    jq -n --argjson more "$description" --arg folder "$folder" \
        --arg pairs "$(printf '%s\n' "${pairs[@]}")" \
        '{$folder, program: $ARGS.positional[0], arguments: $ARGS.positional[1:],
            environment: ($pairs | split("\n") | map(select(. != "")
                | capture("^(?<key>[^=]*)=(?<value>.*)$")) | from_entries)} + $more' \
        --args -- "$@" >"$folder.json"
    # shellcheck disable=SC2086  # words
    said=$(${RUN_BY:-} python3 -SB "$ROOT/tests/grading/run.py" "$folder.json" 2>&1) || {
        status=75 ended=$said
        return 0
    }
    # shellcheck disable=SC2034  # for the test
    read -r status ended < <(jq -r '"\(.status) \(.ended)"' <<<"$said")
}

# No test depends on how busy the machine is. A program that may hang has a limit of processor time
# and a much larger limit of time, and a test waits until an expected event has happened.

# bounded COMMAND [ARGUMENT...]: ends the command, with another status than its own, after two
# minutes of processor time or ten minutes in all
bounded() {
    (
        ulimit -S -t 120
        exec timeout --kill-after=1 600 "$@"
    )
}

# on_one_core COMMAND [ARGUMENT...]: lets all processes of a command share one processor
on_one_core() {
    local core
    core=$(awk '/^Cpus_allowed_list:/ { print $2 + 0 }' /proc/self/status)
    (taskset -cp "$core" "$BASHPID" >/dev/null && "$@")
}

# leashed COMMAND [ARGUMENT...] &: runs a program that would not end by itself. The kernel ends it
# when this test ends, for whatever reason.
leashed() { exec setpriv --pdeathsig KILL "$@" 3>&- 4>&-; }

# busy [COMMAND...] &: an endless loop that uses a processor, started by COMMAND
busy() { leashed "$@" "$BASH" -c 'while :; do :; done'; }

# within_reason COMMAND [ARGUMENT...]: waits until it accepted; returns 1 after ten minutes
within_reason() {
    local end=$((SECONDS + 600))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# wait_for FILE TEXT: what a process in the background prints
wait_for() { within_reason grep -qsF "$2" "$1" || miss "It did not print: $2" "$(cat "$1")"; }

# complain collects sentences; finish fails with all of them.
complaints=()
complain() { complaints+=("$@"); }
finish() { [ "${#complaints[@]}" = 0 ] || miss "${complaints[@]}"; }
