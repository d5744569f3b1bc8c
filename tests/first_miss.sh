#!/usr/bin/env bash
# The check of a lesson without Bats: first_miss.sh NAME judges $LESSON by the tests of tests/NAME.bats, up to the first that misses,
# and prints that one's name and words. With ALL=1 it goes on behind it. Exit status: 0 nothing missed, 1 something did, 2 there is no test.
#
# It is for who judges a hundred programs: Bats takes four times as long to begin its tests as these tests take.
set -eET
cd "${0%/*}/.."
export BATS_TEST_FILENAME=$PWD/tests/$1.bats

# What the checks use of Bats.
# shellcheck disable=SC1090,SC2317
{
    load() { source "tests/$1.bash"; }
    skip() { exit 0; }
}

mapfile -t names < <(sed -nE 's/^@test "(.*)" \{.*/\1/p' "$BATS_TEST_FILENAME")
[ "${#names[@]}" != 0 ] || { echo "tests/$1.bats has no test."; exit 2; }
# shellcheck source=/dev/null
source <(awk '/^@test "/ { sub(/^@test ".*" \{/, "test_" n++ "() {") } { print }' "$BATS_TEST_FILENAME")

setup_file
missed=0
for number in "${!names[@]}"; do
    set +e   # a command after "if" or before "||" would not end at its first failure
    words=$(set -e; "test_$number" 2>&1)
    status=$?
    set -e
    [ "$status" != 0 ] || continue
    missed=1
    printf '  MISS  %s\n' "${names[number]}"
    [ -z "$words" ] || printf '%s\n' "$words"
    [ -n "${ALL:-}" ] || break
done
exit $missed
