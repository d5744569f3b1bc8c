#!/usr/bin/env bash
# Which lines of the simulated device the test suite runs, room by room: coverage.sh [GOAL], for
# `make coverage`. It makes a copy of the sources in build/coverage, builds the simulated device
# there so that it counts (COVERAGE=1), and runs `make GOAL` on it, test-all if none is given. With
# coverage.sh FILE.bats... it runs the quick tests of these files alone. A graded run may write no
# file, so it is not counted; nor is what a sanitizer runs.
set -eu
cd "$(dirname "$0")/.."
copy=build/coverage
rm -rf "$copy"
mkdir -p "$copy/build"
git ls-files -coz --exclude-standard | xargs -0 cp --parents -t "$copy"
cp -a build/cuda "$copy/build"
[ ! -d build/venv ] || ln -s "$PWD/build/venv" "$copy/build/venv"
export COVERAGE=1
env -u MAKEFLAGS make -C "$copy" --no-print-directory simulator
# A test that fails has run, too.
if [[ ${1:-} == *.bats ]]; then
    (cd "$copy" && printf '%s\0' "$@" |
        xargs -0 -n 1 -P "$((2 * $(nproc)))" bats --tap --filter-tags '!long') >"$copy/tests.txt" ||
        grep '^not ok' "$copy/tests.txt"
else
    env -u MAKEFLAGS make -C "$copy" --no-print-directory "${1:-test-all}" >"$copy/tests.txt" ||
        tail -n 20 "$copy/tests.txt"
fi
cd "$copy"
python3 -B tools/coverage.py build/simulator/objects/*/*.gcno
