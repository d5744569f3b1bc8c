#!/usr/bin/env bash
# Runs the test suite: test.sh test, or test.sh test-all with the tests that take long, which are
# those with the tag "long"; or test.sh test-simulator, the quick tests of the simulated device. A
# test is reported as it ends, also into a file.
#
# test notes in build/tested which files of tests had nothing to report, and of which sources.
# test-all, of the same sources, runs only the long tests of these, and those with the tag "more",
# which do more there: they read TEST_LONG.
#
# Each file is run by a Bats of its own, test.sh file FILE: one Bats for all files reports them in
# their order, and none before the first of them has ended.
set -o pipefail
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes 'test|test-all|test-simulator|file;[^-;][^;]*(;.*)?' "$@"

# file FILE: what Bats prints, "FILE<tab>LINE" each, and at the end an empty line. long:FILE: of its
# long tests and of those that do more.
if [ "$1" = file ]; then
    [ "$2" = "${2#long:}" ] ||
        set -- file "${2#long:}" --filter-tags long --filter-tags more
    # The tests of a file that says so mostly wait, so several of them run at a time.
    ! grep -q '^# Its tests mostly wait\.$' "$2" ||
        set -- "$@" --jobs 6 --no-parallelize-across-files
    # In < <( ) Bats would not hear Ctrl-C.
    bats --tap "${@:3}" "$2" 2>&1 </dev/null | {
        planned=
        while IFS= read -r line; do
            [[ ! $line =~ ^1\.\.[0-9]+$ ]] || planned=1
            printf '%s\t%s\n' "$2" "$line"
        done
        [ -n "$planned" ] || printf '%s\tnot ok 0 Bats cannot run %s\n' "$2" "$2"
        printf '%s\t\n' "$2"
    }
    exit
fi

# --filter-tags came with 1.8.
version=$(bats --version 2>/dev/null)
[ "$(printf '%s\n' "Bats 1.8" "$version" | sort -V | head -n 1)" = "Bats 1.8" ] || {
    echo "The suite needs Bats 1.8 or later; bats here is ${version:-of no version}." >&2
    exit 1
}
mkdir -p build
exec 9>build/test.lock
flock -n 9 || { echo "Another make test runs in this folder. This one waits for it." && flock 9; }
# A folder for what the test files share, such as the book, which is built once.
SUITE_TMPDIR=$(mktemp -d) || exit
trap 'rm -rf "$SUITE_TMPDIR"' EXIT
export SUITE_TMPDIR

# The tests start Python many times. It compiles once what they run, and it is not looked for by a
# script, such as pyenv's, which takes five times as long as its start.
python=$(python3 -SBc 'import sys; print(sys.executable)')
[ "$python" -ef "$(type -P python3)" ] || PATH=${python%/*}:$PATH
export PYTHONPYCACHEPREFIX=$PWD/build/python
python3 -m compileall -q tests tools docs/extensions simulator/tests

# A number for all sources, tracked or new, or nothing where git does not know them.
sources() {
    git rev-parse --is-inside-work-tree >/dev/null 2>&1 || return 0
    git ls-files -coz --exclude-standard | sort -z | xargs -0 sha256sum 2>&1 | sha256sum
}

filter=() clean=()
if [ "$1" = test ]; then
    filter=(--filter-tags '!long')
    rm -f build/tested
    sources=$(sources)
elif [ "$1" = test-simulator ]; then
    filter=(--filter-tags '!long')
else
    [ -z "$(sources)" ] || [ "$(head -n 1 build/tested 2>/dev/null)" != "$(sources)" ] ||
        mapfile -t clean < <(tail -n +2 build/tested)
    export TEST_LONG=1 # more schedules and longer walks in the tests that have both tiers
    # Build it once here, because several test files would build it at the same time. It gets its
    # own jobs, because the calling make's are not passed on.
    for sanitizer in address,undefined thread; do
        env -u MAKEFLAGS make --no-print-directory SANITIZE=$sanitizer simulator
    done &
    # Say what is missing before it is installed. Tests that need a missing program are skipped.
    bash tools/setup.sh book || true
    wait "$!"
fi

# Start the longest first, and the many short ones of the lessons last, so that no processor is idle
# at the end. All mutants take the longest. What looks at the book begins later than the book, for
# which it would wait.
first=(${TEST_LONG:+grading/mutants} book/book book/makefile unit/nvcc grading/sandbox
    unit/simulator_facts grading/class grading/checks book/browser book/handout unit/cores
    book/live unit/simulator unit/simulator_laws grading/grader book/editions litmus/litmus
    book/clinic book/solutions grading/mutants grading/cheats grading/containers book/decisions
    unit/reports unit/seal book/setup unit/inside book/recorders book/pictures book/questions
    book/headers grading/hostile book/examples book/format)
files=()
for name in "${first[@]}"; do
    for file in {,simulator/}tests/"$name.bats"; do
        [[ ! -e $file || " ${files[*]} " == *" $file "* ]] || files+=("$file")
    done
done
for file in {,simulator/}tests/*/*.bats tests/lessons/{,clinic/}*/rules.bats; do
    [ -e "$file" ] && [[ " ${files[*]} " != *" $file "* ]] && files+=("$file")
done
# Bats is not started for a file in which it would run nothing.
[ ${#filter[@]} = 0 ] || mapfile -t files < <(grep -L '^# bats file_tags=long' "${files[@]}")

kept=()
for file in "${files[@]}"; do
    [[ $1 != test-simulator || $file == simulator/* ]] || continue
    if [[ " ${clean[*]} " != *" $file "* ]]; then
        kept+=("$file")
    elif grep -qE '^# bats (file|test)_tags=(long|more)' "$file"; then
        kept+=("long:$file")
    fi
done
[ ${#clean[@]} = 0 ] ||
    echo "make test has passed ${#clean[@]} files on these sources: of those, what takes long."

# mawk reads a pipe in blocks unless it is told to be interactive.
awk=(awk)
[ -n "$(awk -W interactive 'BEGIN {}' 2>&1)" ] || awk+=(-W interactive)

# Run three files for each processor, because many tests sleep or wait for a process.
printf '%s\0' "${kept[@]}" |
    xargs -0 -I{} -P "$((3 * $(nproc)))" \
        bash tools/test.sh file {} "${filter[@]}" 2>&1 9>&- |
    tee "$SUITE_TMPDIR/printed" |
    "${awk[@]}" -f tools/one_stream.awk | "${awk[@]}" -f tools/report.awk
status=$?
# A file had nothing to report if a test passed and none failed or was skipped.
if [ "$1" = test ] && [ -n "$sources" ] && [ "$sources" = "$(sources)" ]; then
    awk -F '\t' '$2 ~ /^not ok / || $2 ~ /^ok .* # skip/ { bad[$1] }
        $2 ~ /^ok / { passed[$1] }
        END { for (file in passed) if (!(file in bad)) print file }' "$SUITE_TMPDIR/printed" |
        sort | { echo "$sources" && cat; } >build/tested
fi
exit $status
