#!/usr/bin/env bash
# Runs the test suite: test.sh test, or test.sh test-all with the tests that take long, which are
# those with the tag "long". A test is reported as it ends, also into a file.
#
# Each file is run by a Bats of its own, test.sh file FILE: one Bats for all files reports them in
# their order, and none before the first of them has ended.
set -o pipefail

# file FILE: what Bats prints, "FILE<tab>LINE" each, and at the end an empty line
if [ "$1" = file ]; then
    planned=
    while IFS= read -r line; do
        [[ ! $line =~ ^1\.\.[0-9]+$ ]] || planned=1
        printf '%s\t%s\n' "$2" "$line"
    done < <(bats --tap "${@:3}" "$2" 2>&1 </dev/null)
    [ -n "$planned" ] || printf '%s\tnot ok 0 Bats cannot run %s\n' "$2" "$2"
    printf '%s\t\n' "$2"
    exit
fi

mkdir -p build
exec 9>build/test.lock
flock -n 9 || { echo "Another make test runs in this folder. This one waits for it." && flock 9; }
# What the test files share, such as the book, which is built once.
SUITE_TMPDIR=$(mktemp -d) || exit
trap 'rm -rf "$SUITE_TMPDIR"' EXIT
export SUITE_TMPDIR

filter=()
if [ "$1" = test ]; then
    filter=(--filter-tags '!long')
else
    export TEST_LONG=1 # more schedules and longer walks in the tests that have both tiers
    # Here once: several test files would build it at the same time. With jobs of their own, since
    # those of the make that called this are not passed on.
    for sanitizer in address,undefined thread; do
        env -u MAKEFLAGS make --no-print-directory SANITIZE=$sanitizer simulator
    done &
    # Named before it is installed; without it the tests that need it are skipped.
    bash tests/commands/setup.sh book || true
    wait "$!"
fi

# The longest first, so that no processor is idle at the end.
first=(workbook/browser workbook/book litmus/litmus workbook/sandbox simulator/simulator_facts
    workbook/cheats lessons/mutants workbook/live litmus/ipc workbook/decisions workbook/class
    workbook/grader workbook/clinic workbook/editions workbook/headers workbook/questions
    workbook/checks workbook/solutions simulator/simulator simulator/simulator_laws
    workbook/makefile workbook/recorders simulator/hostile workbook/pictures workbook/examples
    workbook/format)
files=()
for file in "${first[@]/#/tests/}"; do
    [ ! -e "$file.bats" ] || files+=("$file.bats")
done
# The checks of the lessons, each rule a test, judge the solutions.
[ ! -d tests/lessons ] ||
    make -s list | sed 's|.*|build/rules/&.bats|' | xargs make -s || exit
for file in build/rules/*.bats tests/*/*.bats; do
    [ -e "$file" ] && [[ " ${files[*]} " != *" $file "* ]] && files+=("$file")
done

# mawk reads a pipe a block at a time, unless it is told that somebody waits for each line.
awk=(awk)
[ -n "$(awk -W interactive 'BEGIN {}' 2>&1)" ] || awk+=(-W interactive)

# Two files for each processor: what sleeps, or waits for a process, leaves it to another.
printf '%s\0' "${files[@]}" |
    xargs -0 -I{} -P "$((2 * $(nproc)))" bash tests/commands/test.sh file {} "${filter[@]}" 2>&1 9>&- |
    "${awk[@]}" -f tests/commands/one_stream.awk | "${awk[@]}" -f tests/commands/report.awk
