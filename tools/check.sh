#!/usr/bin/env bash
# The report of a check: check.sh NN_name [FILE.c] for a lesson, or check.sh clinic/NN_name FILE.c
# for a repair of a case. ALL=1 shows every miss in full. A lesson that passes begins again
# with its first hint (tools/hint.sh). build/tries/NN_name remembers how often the check
# has missed in a row: a check may hold back advice from the first run (CHECK_TRY is 1).
# STEP=3 judges by the rules up to section 3 of the lesson's page, where the page has such sections.
# CHECK_FORM=brief prints the first miss alone, for tools/watch.sh.
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '(clinic/)?[0-9][0-9]_[a-z0-9_]+(;([^-;][^;]*)?)?' "$@"
name=$1 number=${1#*/}
number=${number%%_*}
export SEED=${SEED:-$RANDOM}
LESSON=${2:-lessons/$name.c}
if [[ $name == clinic/* && -z ${2:-} ]]; then
    echo "Copy the broken program, repair the copy, and name it:"
    echo "    cp docs/${name}_wrong.c mine.c"
    echo "    make check-clinic-$number FILE=mine.c"
    exit 2
fi
tries=${CHECK_TRIES:-build/tries}/$name
CHECK_TRY=$(cat "$tries" 2>/dev/null)
[[ $CHECK_TRY =~ ^[0-9]{1,6}$ ]] || CHECK_TRY=0
export CHECK_TRY=$((10#$CHECK_TRY + 1))
# The book's table of lessons shows the progress in lessons/, not in another file.
progress() { [ "$LESSON" != "lessons/$name.c" ] || bash tools/progress.sh "$name" "$1"; }
mkdir -p build/check   # make watch may be checking the same lesson
# What Python has compiled is kept for the next check, as for a grading.
flock -o "build/check/${name/\//-}.lock" python3 -SX pycache_prefix="$PWD/build/python" \
    tests/grading/judge.py "$name" "$LESSON" --form="${CHECK_FORM:-report}" ${CHECK_FORM:+--first} \
    --step="${STEP:-0}" </dev/null || {
    status=$?
    progress begun
    mkdir -p "${tries%/*}"
    echo "$CHECK_TRY" >"$tries"
    exit $status
}
rm -f "$tries"
[ -z "${STEP:-}" ] || exit 0   # the sections behind it are not judged
progress passed
rm -f "build/hints/$name"
[ -z "${CHECK_FORM:-}" ] || exit 0
[[ $name != clinic/* ]] ||
    echo "Case $number is repaired.$([ ! -d solutions ] ||
        echo " make repaired-$number runs the book's repair.")"
[ "$LESSON" != "lessons/$name.c" ] || {
    next=$(printf '%s\n' lessons/[0-9][0-9]_*.c | sed -n "\\|/$name\.c\$|{n;s|.*/||;s|_.*||p}")
    echo "Next: make ${next:-clinic-01}"
}
