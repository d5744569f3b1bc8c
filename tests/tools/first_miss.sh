#!/usr/bin/env bash
# The check of a lesson without Bats: first_miss.sh NAME judges $LESSON by the tests of
# tests/lessons/NAME.bats, up to the first that misses, and prints that one's name and words.
#
#   CHECK_TEST="The beginning"   judges by the tests alone whose names begin so
#   TAP=1                        goes on behind the first miss and prints what bats --tap would
#
# Exit status: 0 nothing missed, 1 something did, 2 there is no test.
#
# It is for the grader and for tests that judge a hundred programs: Bats takes as long to begin its
# tests as these tests take.
set -eET
cd "${0%/*}/../.."
export BATS_TEST_FILENAME=$PWD/tests/lessons/$1.bats

# What the checks use of Bats.
# shellcheck disable=SC1090,SC2317
{
    load() { source "${BATS_TEST_FILENAME%/*}/$1.bash"; }
    skip() { printf '# skip %s' "$*"; exit 77; }
}

mapfile -t names < <(sed -nE 's/^@test "(.*)" \{.*/\1/p' "$BATS_TEST_FILENAME")
[ "${#names[@]}" != 0 ] || { echo "tests/lessons/$1.bats has no test."; exit 2; }
# shellcheck source=/dev/null
source <(awk '/^@test "/ { sub(/^@test ".*" \{/, "test_" n++ "() {") } { print }' \
    "$BATS_TEST_FILENAME")

tap() { [ -z "${TAP:-}" ] || printf '%s %d %s\n' "$1" $((number + 1)) "$2"; }

setup_file
missed=0
[ -z "${TAP:-}" ] || echo "1..${#names[@]}"
for number in "${!names[@]}"; do
    name=${names[number]}
    [[ $name == "${CHECK_TEST:-}"* ]] || continue
    set +e   # a command after "if" or before "||" would not end at its first failure
    words=$(set -e; "test_$number" 2>&1)
    status=$?
    set -e
    if [ "$status" = 0 ]; then
        tap ok "$name"
    elif [ "$status" = 77 ] && [[ $words == *"# skip "* ]]; then
        tap ok "$name # skip ${words##*"# skip "}"
    else
        missed=1
        : >"$CHECK_FOLDER/missed"
        if [ -n "${TAP:-}" ]; then tap "not ok" "$name"; else printf '  MISS  %s\n' "$name"; fi
        [ -z "$words" ] || printf '%s\n' "${TAP:+# }${words//$'\n'/$'\n'${TAP:+# }}"
        [ -n "${TAP:-}" ] || break
    fi
done
exit $missed
