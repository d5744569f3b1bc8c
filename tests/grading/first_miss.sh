#!/usr/bin/env bash
# Runs the check of a lesson: first_miss.sh NAME judges $LESSON by the tests of
# tests/lessons/NAME.bats, up to the first that misses, and prints that one's name and words.
#
#   CHECK_TEST="The beginning"   judges by the tests alone whose names begin so
#   TAP=1                        goes on behind the first miss and prints what bats --tap would, and
#                                the points in lines of their own: before the tests "possible 5, 2
#                                given", or "no points: " and why, and behind them "points 3"
#   TAP=first                    prints so, too; the tests behind the first miss are skipped
#   TAP=possible                 judges nothing, and prints the first of these alone
#
# Exit status: 0 nothing missed, 1 something did, 2 there is no test.
#
# Every command that judges a lesson runs this, and so needs no Bats, which takes longer to begin
# these tests than the tests themselves take.
set -eET
cd "${0%/*}/../.."
export BATS_TEST_FILENAME=$PWD/tests/lessons/$1.bats

# What the checks use of Bats.
# shellcheck disable=SC1090,SC2317
{
    load() { source "${BATS_TEST_FILENAME%/*}/$1.bash"; }
    skip() { printf '# skip %s' "$*"; exit 77; }
}

# As in Bats, each test becomes a function.
mapfile -t lines <"$BATS_TEST_FILENAME"
names=()
for number in "${!lines[@]}"; do
    [[ ${lines[number]} == '@test "'* && ${lines[number]} =~ ^@test\ \"(.*)\"\ \{ ]] || continue
    lines[number]="test_${#names[@]}() {${lines[number]#"${BASH_REMATCH[0]}"}"
    names+=("${BASH_REMATCH[1]}")
done
[ "${#names[@]}" != 0 ] || { echo "tests/lessons/$1.bats has no test."; exit 2; }

# Points are the tests that pass, minus those that the starter passes. Nothing else counts them. No
# word of a test begins a line, so none can be taken for theirs.
baseline=tests/lessons/baseline.txt given=
possible() { # possible NAME
    local name tests
    while read -r name tests given; do
        [ "$name" != "$1" ] || break
    done <$baseline
    if [ "$name" != "$1" ]; then
        given=
        echo "no points: $baseline has no line for $1. Type: tests/grading/grade.sh baseline"
    elif [ "$tests" != "${#names[@]}" ]; then
        given=
        echo "no points: The check of $1 has ${#names[@]} tests, but $baseline has $tests. After a \
change of a check: tests/grading/grade.sh baseline"
    else
        echo "possible $((tests - given)), $given given"
    fi
}
[ -z "${TAP:-}" ] || [[ $1 == clinic/* ]] || possible "$1"
[ "${TAP:-}" != possible ] || exit 0

printf -v code '%s\n' "${lines[@]}"
eval "$code"

tap() { [ -z "${TAP:-}" ] || printf '%s %d %s\n' "$1" $((number + 1)) "$2"; }

setup_file
missed=0 passed=0
[ -z "${TAP:-}" ] || echo "1..${#names[@]}"
for number in "${!names[@]}"; do
    name=${names[number]}
    [[ $name == "${CHECK_TEST:-}"* ]] || continue
    if [ "$missed${TAP:-}" = 1first ]; then
        tap ok "$name # skip a test before this one has missed"
        continue
    fi
    set +e   # a command after "if" or before "||" would not end at its first failure
    words=$(set -e; "test_$number" 2>&1)
    status=$?
    set -e
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
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
[ -z "$given" ] || [ -n "${CHECK_TEST:-}" ] ||
    echo "points $((passed > given ? passed - given : 0))"
exit $missed
