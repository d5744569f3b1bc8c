#!/usr/bin/env bash
# Shows which lines of the simulated device the tests run, room by room: make coverage. It copies
# the sources to build/coverage, builds the simulated device there with COVERAGE=1, and runs make
# test-all. Graded runs, which may write no files, and sanitizer builds are not counted.
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '' "$@"
cd "$(dirname "$0")/.."
need_git_clone
copy=build/coverage
rm -rf "$copy"
mkdir -p "$copy/build"
git ls-files -coz --exclude-standard | xargs -0 cp --parents -t "$copy"
cp -a build/cuda "$copy/build"
[ ! -d build/venv ] || ln -s "$PWD/build/venv" "$copy/build/venv"
export COVERAGE=1
env -u MAKEFLAGS make -C "$copy" --no-print-directory simulator
# Ignore the status, because the lines of a failing test count, too.
env -u MAKEFLAGS make -C "$copy" --no-print-directory test-all >"$copy/tests.txt" ||
    tail -n 20 "$copy/tests.txt"
cd "$copy"
python3 -SB tools/coverage.py build/simulator/objects/*/*.gcno
