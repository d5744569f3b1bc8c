#!/usr/bin/env bash
# Grades one student: the check of every lesson, a table, and OUT/grade.json with what is derived
# from it.
#
#   grade.sh             STUDENT=FOLDER  the student's files (FOLDER/NN_name.c or
#                                        FOLDER/lessons/NN_name.c); left out: lessons/
#                        OUT=FOLDER      where the grade is written; left out: build/grade
#                        ONLY="01 07"    these lessons only
#                        JOBS=N          so many checks at a time; left out: one for each processor
#                        RESUME=1        nothing is done when OUT/grade.json already grades these
#                                        very files with these very checks
#   grade.sh baseline    writes tests/lessons/baseline.txt: how many tests each check has, and how
#                        many of them the starter passes
#
# Exit status: 0 the grade is written, with any number of points; 2 something could not be graded,
# and a sentence on stderr names it.
#
# The student's files are only read: each is copied to a folder of this grading, compiled and run
# there (tests/tools/run.sh). The results come from what the checks print on their own pipe, and are
# written when every process that the student's programs started is dead.
# shellcheck disable=SC2016  # questions to jq
set -u
caller=$PWD
cd "$(dirname "$0")/../.." || exit 2
mask=$(umask)
export LC_ALL=C.UTF-8   # the compiler's words, and what counts as a letter, are the same everywhere
umask 022   # the user of the programs reads the copies
unset MAKEFLAGS MAKELEVEL MFLAGS LESSON SANITIZE BACKEND
unset CHECK_FOLDER CHECK_PROGRAM CHECK_TEST CHECK_FIRST_MISS CHECK_KILOBYTES

say() { printf '%s\n' "$@" >&2; }
fail() { say "$@"; exit 2; }
from_caller() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s' "$caller/$1" ;; esac; }
# question JQ [OPTION OR FILE...]
question() { jq -L tests/tools "include \"grade\"; $1" "${@:2}"; }

# ---- one lesson: grade.sh lesson NAME, called below with GRADE_WORK set ----

largest=1048576
# A program can write the record that its check reads. These words have no other use in a lesson.
forging='SIM_JOURNAL|SIM_CHECK|journal\.jsonl|CHECK_(MARK|FOLDER|LESSON|LIBRARY|NAME)'
forging+='|LD_PRELOAD|LD_LIBRARY_PATH'

# Copies the student's file. Prints why there is nothing to check.
hand_in() { # hand_in NAME
    local file=$GRADE_SOURCE/$1.c copy=$GRADE_WORK/lessons/$1.c words
    if [ -L "$file" ]; then echo "refused lessons/$1.c is a symbolic link. Hand in the file itself."
    elif [ ! -e "$file" ]; then echo "missing lessons/$1.c does not exist."
    elif [ -d "$file" ]; then echo "refused lessons/$1.c is a folder, not a C file."
    elif [ ! -f "$file" ]; then echo "refused lessons/$1.c is not a regular file."
    elif ! head -c $((largest + 1)) "$file" >"$copy" 2>/dev/null; then
        echo "refused lessons/$1.c cannot be read."
    elif [ "$(stat -c %s "$copy")" -gt $largest ]; then
        echo "refused lessons/$1.c is larger than 1 MiB. No lesson needs that much."
    elif words=$(grep -aoEm 1 "$forging" "$copy"); then
        echo "refused lessons/$1.c contains ${words%%$'\n'*}." \
            "A program must not change what its check reads."
    fi
}

# As root each lesson runs as a user of its own, from the range that systemd gives to transient
# users. A lock marks the one in use.
own_user() {
    local number
    mkdir -p /run/lock
    for ((number = 61200; number < 61456; number++)); do
        exec {user_lock}>"/run/lock/check-user-$number"
        # Where no process reaps the dead, they still count as processes of their user.
        if flock -n "$user_lock" &&
            [ -z "$(find /proc -maxdepth 1 -uid "$number" 2>/dev/null)" ]; then
            CHECK_USER=$number
            return
        fi
        exec {user_lock}>&-
    done
    return 1
}

# How many processes and threads the user of the programs has: the limit is counted on top of them.
processes() {
    cat /proc/[0-9]*/status 2>/dev/null | awk -v uid="${CHECK_USER:-$(id -u)}" '
        $1 == "Uid:" { mine = $2 == uid }
        $1 == "Threads:" && mine { n += $2 }
        END { print n + 256 }'
}

protect() {
    unset CHECK_USER CHECK_PROCESSES
    [ "$GRADE_OWN_USER" = false ] || { own_user && export CHECK_USER; }
    [ "$GRADE_LIMIT" = false ] || { CHECK_PROCESSES=$(processes) && export CHECK_PROCESSES; }
}

end_runs() { # end_runs FOLDER: kills every process that names the folder in its environment
    local stray
    for _ in 1 2 3 4 5; do
        stray=$(grep -lszF "$1" /proc/[0-9]*/environ | cut -d / -f 3)
        [ -n "$stray" ] || return 0
        # shellcheck disable=SC2086  # one word for each process
        kill -KILL $stray 2>/dev/null
    done
}

lesson() { # lesson NAME
    local name=$1 base=$GRADE_WORK/$1 file=$GRADE_WORK/lessons/$1.c sum=null row refusal
    local limit=${CHECK_LESSON_SECONDS:-120} ended=0
    row=$(awk -v name="$name" '$1 == name { printf "{\"tests\": %d, \"given\": %d}", $2, $3 }' \
        tests/lessons/baseline.txt)
    [ "$GRADE_BASELINE" = false ] ||
        row="{\"tests\": $(grep -c '^@test "' "tests/lessons/$name.bats"), \"given\": 0}"
    refusal=$(hand_in "$name")
    [ ! -e "$file" ] || sum=\"$(sha256sum <"$file" | cut -c 1-64)\"
    if [ -z "$refusal" ]; then
        protect
        TAP=1 CHECK_FOLDER=$base LESSON=$file timeout --kill-after=2 "$limit" \
            tests/tools/first_miss.sh "$name" >"$base.tap" 2>&1 </dev/null || ended=$?
        chmod -R u+rwX "$base" 2>/dev/null
        if [ "$ended" = 124 ] || [ "$ended" = 137 ]; then
            refusal="refused The check did not end within $limit seconds and was stopped:"
            refusal+=" is one of its runs slow?"
            end_runs "$base"
        fi
    fi
    : >>"$base.tap"
    if [ -n "$refusal" ]; then
        question 'lesson($name; $row; $file) | not_run($status; $why)' -n --arg name "$name" \
            --argjson row "${row:-null}" --argjson file "$sum" \
            --arg status "${refusal%% *}" --arg why "${refusal#* }"
    elif [ -n "$row" ]; then
        tr -d '\000' <"$base.tap" |
            question 'lesson($name; $row; $file) | ran($row; $work; [inputs])' -n -R \
                --arg name "$name" --argjson row "$row" --argjson file "$sum" \
                --arg work "$GRADE_WORK"
    else
        question 'lesson($name; null; $file) | not_run("ungraded"; "tests/lessons/baseline.txt has "
                + "no line for \($name). Type: tests/tools/grade.sh baseline")' \
            -n --arg name "$name" --argjson file "$sum"
    fi >"$base.json"
    rm -rf "$base"
}
if [ "${1:-}" = lesson ]; then lesson "$2"; exit; fi

# ---- the grading ----

baseline=false
case ${1:-} in
'') ;;
baseline) baseline=true; unset STUDENT ONLY RESUME ;;
*) fail "grade.sh: the argument must be baseline, or none." ;;
esac
out=$(from_caller "${OUT:-$PWD/build/grade}")
source=lessons
if [ -n "${STUDENT:-}" ]; then
    source=$(from_caller "$STUDENT")
    [ -d "$source" ] || fail "STUDENT=$STUDENT: there is no such folder."
    if [ -L "$source/lessons" ]; then
        fail "STUDENT=$STUDENT: its folder lessons is a symbolic link."
    fi
    [ ! -d "$source/lessons" ] || source=$source/lessons
fi
for tool in jq flock; do
    type -P $tool >/dev/null || fail "$tool is not installed. make grade installs it."
done
[ -e build/simulator/libcudart.so.13 ] ||
    fail "The simulated device is not built. Type: make simulator"

mapfile -t lessons < <(make -s list)
if [ -n "${ONLY:-}" ]; then
    chosen=()
    for word in $ONLY; do
        found=
        for name in "${lessons[@]}"; do
            case $word in
            "$name" | "${name%%_*}") ;;
            *) [ "${name%%_*}" = "0$word" ] || continue ;;
            esac
            found=$name
            chosen+=("$name")
        done
        [ -n "$found" ] ||
            fail "ONLY=\"$ONLY\": there is no lesson $word. The lessons are: ${lessons[*]}"
    done
    lessons=("${chosen[@]}")
fi
[ -n "${lessons[*]}" ] || fail "There is no lesson: nothing was graded."

# What grades: a commit, where git knows one for this very folder, and a sum of the files that
# decide.
commit=unknown
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
    commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
fi
checks=$(find Makefile tests simulator lessons/*.h -type f -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-64)
workbook=$(jq -n -c --arg commit "$commit" --arg checks "$checks" '$ARGS.named')

if [ -n "${RESUME:-}" ] && [ -e "$out/grade.json" ]; then
    sums=$(for name in "${lessons[@]}"; do
        sum=null
        if [ -f "$source/$name.c" ] && [ ! -L "$source/$name.c" ]; then
            sum=\"$(head -c $((largest + 1)) "$source/$name.c" | sha256sum | cut -c 1-64)\"
        fi
        printf '{"lesson": "%s", "file": %s}' "$name" "$sum"
    done | jq -s -c .)
    if jq -e --argjson workbook "$workbook" --argjson sums "$sums" '
        .workbook == $workbook and (.lessons | map({lesson, file})) == $sums
        and all(.lessons[]; .status != "ungraded")' "$out/grade.json" >/dev/null 2>&1; then
        exit 0
    fi
fi

(umask "$mask" && mkdir -p "$out") || fail "OUT=$out cannot be created."
rm -rf "$out/grade.json" "$out/junit.xml" "$out/gradescope" "$out/prairielearn"
mkdir -p build/check
work=$(mktemp -d build/check/grade.XXXXXX) || exit 2
chmod 755 "$work"
export GRADE_WORK=$work GRADE_SOURCE=$source GRADE_BASELINE=$baseline
export GRADE_OWN_USER=false GRADE_LIMIT=false
# shellcheck disable=SC2317  # called by the trap
finish() {
    export -n GRADE_WORK
    end_runs "$work"
    chmod -R u+rwX "$work" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$work/lessons"

# One program that is known to be correct, compiled and run as the student's will be: with all
# protection that this machine allows.
cat >"$work/canary.c" <<'PROGRAM'
#define _GNU_SOURCE
#include "workbook.h"
#include <unistd.h>
int main(void)
{
    CHECK(cudaDeviceSynchronize());
    pid_t second = fork();
    if (second == 0)
        _exit(0);
    return second < 0;
}
PROGRAM
canary() (
    protect
    rm -rf "$work/canary" && mkdir -p "$work/canary/run" || return
    # shellcheck source=/dev/null
    BATS_TEST_FILENAME=00_canary source tests/tools/helpers.bash
    export CHECK_FOLDER=$work/canary
    compile_lesson "$work/canary.c" >"$work/canary/compiler" 2>&1 &&
        tests/tools/run.sh "$work/canary/run" LD_LIBRARY_PATH="$PWD/build/simulator" -- \
            "$PWD/$work/canary/program" &&
        [ "$(cat "$work/canary/run/status")" = 0 ]
)
works=
for GRADE_OWN_USER in $([ "$(id -u)" != 0 ] || echo true) false; do
    for GRADE_LIMIT in true false; do
        if canary; then works=1; break 2; fi
    done
done
[ -n "$works" ] ||
    fail "A program that is known to be correct could not be compiled and run here, so nothing was \
graded:" "$(head -n 10 "$work/canary/compiler")" \
        "$(head -n 10 "$work/canary/run/stderr" 2>/dev/null)"
if [ "$(id -u)" = 0 ] && [ "$GRADE_OWN_USER" = false ]; then
    [ -z "${STUDENT:-}" ] || fail "Nothing was graded: the student's programs would run as root,\
 because no other user can read what was built in $PWD. Move the workbook to a folder that every\
 user may enter, and build it with umask 022."
    say "The programs run as root, because no other user can read what was built in $PWD."
fi

printf '%s\n' "${lessons[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} tests/tools/grade.sh lesson {} &
wait $!

files=("${lessons[@]/#/$work/}")
files=("${files[@]/%/.json}")
for file in "${files[@]}"; do
    [ -s "$file" ] ||
        fail "The check of $(basename "$file" .json) was interrupted: nothing was graded."
done

if [ "$baseline" = true ]; then
    {
        echo "# For each lesson: the tests of its check, and how many of them the starter passes."
        echo "# Written by tests/tools/grade.sh baseline."
        jq -r '([.tests[] | select(.result == "passed")] | length) as $given
            | "\(.lesson) \(.tests | length) \($given)"' "${files[@]}"
    } >"$work/baseline.txt"
    mv "$work/baseline.txt" tests/lessons/baseline.txt
    exit
fi

mkdir "$work/gradescope" "$work/prairielearn"
{
    question 'grade($workbook; $own_user)' -s --argjson workbook "$workbook" \
        --argjson own_user "$GRADE_OWN_USER" "${files[@]}" >"$work/grade.json" &&
        question junit -r "$work/grade.json" >"$work/junit.xml" &&
        question gradescope "$work/grade.json" >"$work/gradescope/results.json" &&
        question prairielearn "$work/grade.json" >"$work/prairielearn/results.json"
} || fail "The grade could not be written."
(
    umask "$mask"
    flock 9   # two gradings into one folder: each leaves all of its files
    mkdir -p "$out/gradescope" "$out/prairielearn"
    for file in grade.json junit.xml gradescope/results.json prairielearn/results.json; do
        { cp "$work/$file" "$out/$file.new" && mv "$out/$file.new" "$out/$file"; } || exit
    done
) 9<"$out" || fail "The grade could not be written to $out."

width=100
[ ! -t 1 ] || width=$(tput cols 2>/dev/null || echo 80)
question 'table($width)' -r --argjson width "$width" "$work/grade.json"
echo "The whole grade: ${out#"$PWD/"}/grade.json"
[ -n "${STUDENT:-}${OUT:-}" ] || tests/tools/progress.sh grade "$work/grade.json"
mapfile -t ungraded < <(question 'ungraded[]' -r "$work/grade.json")
[ "${#ungraded[@]}" = 0 ] || fail "${ungraded[@]}"
