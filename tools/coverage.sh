#!/usr/bin/env bash
# Shows which lines of the simulated device the tests run, room by room: coverage.sh [GOAL], for
# `make coverage`. It copies the sources to build/coverage, builds the simulated device there with
# COVERAGE=1, and runs `make GOAL` (test-all by default). coverage.sh FILE.bats... runs only the
# quick tests of these files. Graded runs, which may write no files, and sanitizer builds are not
# counted.
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '(test[a-z-]*)?|[^-;][^;]*\.bats(;[^-;][^;]*\.bats)*' "$@"
cd "$(dirname "$0")/.."
need_git_clone
for file in "$@"; do
    [[ $file != *.bats || -f $file ]] ||
        { echo "coverage.sh: there is no file $file." >&2; exit 2; }
done
copy=build/coverage
rm -rf "$copy"
mkdir -p "$copy/build"
git ls-files -coz --exclude-standard | xargs -0 cp --parents -t "$copy"
cp -a build/cuda "$copy/build"
[ ! -d build/venv ] || ln -s "$PWD/build/venv" "$copy/build/venv"
export COVERAGE=1
env -u MAKEFLAGS make -C "$copy" --no-print-directory simulator
# Ignore the status, because the lines of a failing test count, too.
if [[ ${1:-} == *.bats ]]; then
    (cd "$copy" && printf '%s\0' "$@" |
        xargs -0 -n 1 -P "$((2 * $(nproc)))" bats --tap --filter-tags '!long') >"$copy/tests.txt" ||
        grep '^not ok' "$copy/tests.txt"
else
    env -u MAKEFLAGS make -C "$copy" --no-print-directory "${1:-test-all}" >"$copy/tests.txt" ||
        tail -n 20 "$copy/tests.txt"
fi
cd "$copy"
python3 -SB tools/coverage.py build/simulator/objects/*/*.gcno
