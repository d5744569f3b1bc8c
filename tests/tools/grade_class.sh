#!/usr/bin/env bash
# Grades a class: every folder in CLASS is a student, graded by tests/tools/grade.sh. CLASS=FOLDER,
# OUT=FOLDER (build/class), ONLY, JOBS.
#
# It writes OUT/class.csv and OUT/class.json, a row for each student, and OUT/students/NAME/ with
# the student's grade. A second call grades only what has changed: a student's files, a check, or
# what an interruption has left out. A student who cannot be graded has a row with the reason,
# and does not stop the others. Exit status: 0 every student has a grade; 2 a student has none.
# shellcheck disable=SC2016  # questions to jq
set -u
caller=$PWD
cd "$(dirname "$0")/../.." || exit 2
fail() { printf '%s\n' "$@" >&2; exit 2; }
from_caller() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s' "$caller/$1" ;; esac; }

if [ "${1:-}" = student ]; then   # student FOLDER, called below
    name=${2##*/}
    folder=$OUT/students/$name
    mkdir -p "$folder" || exit
    STUDENT=$2 OUT=$folder JOBS=1 RESUME=1 tests/tools/grade.sh \
        >"$folder/table.txt" 2>"$folder/errors.txt" ||
        echo "Not graded: $(printf '%q' "$name"): $(head -n 1 "$folder/errors.txt")" >&2
    exit 0
fi

[ -n "${CLASS:-}" ] ||
    fail "Name the class: make grade-class CLASS=FOLDER, where FOLDER has a folder for each\
 student."
class=$(from_caller "$CLASS")
[ -d "$class" ] || fail "CLASS=$CLASS: there is no such folder."
OUT=$(from_caller "${OUT:-$PWD/build/class}")
export OUT
mkdir -p "$OUT/students" || fail "OUT=$OUT cannot be created."

students=() others=()
while IFS= read -r -d '' entry; do
    if [ -d "$entry" ]; then students+=("$entry"); else others+=("${entry##*/}"); fi
done < <(find "$class/" -mindepth 1 -maxdepth 1 ! -name '.*' -print0 | LC_ALL=C sort -z)
[ "${#students[@]}" != 0 ] || fail "CLASS=$CLASS: it has no folders, so there are no students."
[ "${#others[@]}" = 0 ] || printf 'Ignored, because it is not a folder: %q\n' "${others[@]}" >&2

rm -f "$OUT/class.csv" "$OUT/class.json"
set -m   # a process group for all of them: one signal ends them
xargs -0 -P "${JOBS:-$(nproc)}" -n 1 tests/tools/grade_class.sh student \
    < <(printf '%s\0' "${students[@]}") &
all=$!
stop() { exec 2>/dev/null; kill -TERM -- "-$all"; wait; exit "$1"; }
trap 'stop 130' INT
trap 'stop 143' TERM HUP
wait "$all"

for entry in "${students[@]}"; do
    name=${entry##*/}
    folder=$OUT/students/$name
    jq -c --arg student "$name" -L tests/tools 'include "grade"; class_row($student)' \
        "$folder/grade.json" 2>/dev/null ||
        jq -n -c --arg student "$name" --rawfile errors "$folder/errors.txt" -L tests/tools \
            'include "grade"; class_gap($student; $errors)'
done >"$OUT/class.rows" || fail "The table could not be written."
jq -s . "$OUT/class.rows" >"$OUT/class.json"
jq -r -L tests/tools 'include "grade"; class_csv' "$OUT/class.json" >"$OUT/class.csv"
rm "$OUT/class.rows"
jq -r -L tests/tools 'include "grade"; class_table' "$OUT/class.json"
echo "The table: ${OUT#"$PWD/"}/class.csv"
jq -e 'all(.[]; .note == null)' "$OUT/class.json" >/dev/null || exit 2
