#!/usr/bin/env bash
# Grades one student: the check of every lesson, a table, and OUT/grade.json with what is derived
# from it.
#
#   grade.sh             STUDENT=FOLDER  the student's files (FOLDER/NN_name.c or
#                                        FOLDER/lessons/NN_name.c); left out: lessons/
#                        OUT=FOLDER      where the grade is written; left out: build/grade
#                        ONLY="01 07"    these lessons only
#                        JOBS=N          so many checks at a time; left out: one for each processor
#                        SEED=N          the checks draw their sizes and orders from it; left out: 1
#                        RESUME=1        nothing is done when OUT/grade.json already grades these
#                                        very files with these very checks
#   grade.sh baseline    writes tests/lessons/baseline.txt: how many tests each check has, and how
#                        many of them the starter passes
#
# Exit status: 0 the grade is written, with any number of points; 2 something could not be graded,
# and a sentence on stderr names it.
#
# The student's files are only read: each is copied to a folder of this grading, compiled and run
# there in a sandbox (tests/tools/sandbox.sh). The first line says which sandbox this machine
# allows, and what cannot be promised without one. The results come from what the checks print,
# which no program of a student can reach, and are written when all of those have ended.
# shellcheck disable=SC2016  # questions to jq
set -u
caller=$PWD
cd "${0%/*}/../.." || exit 2
mask=$(umask)
export LC_ALL=C.UTF-8   # the compiler's words, and what counts as a letter, are the same everywhere
umask 022   # the user of the programs reads the copies
unset MAKEFLAGS MAKELEVEL MFLAGS LESSON SANITIZE BACKEND
unset CHECK_FOLDER CHECK_PROGRAM CHECK_TEST CHECK_FIRST_MISS CHECK_KILOBYTES CHECK_USER
unset CHECK_CGROUP

say() { printf '%s\n' "$@" >&2; }
fail() { say "$@"; exit 2; }
# shellcheck source=tests/tools/protect.sh
source tests/tools/protect.sh

# ---- one lesson: grade.sh lesson NAME, called below with GRADE_WORK set ----

largest=1048576

# Copies the student's file. Prints why there is nothing to check.
hand_in() { # hand_in NAME
    local file=$GRADE_SOURCE/$1.c copy=$GRADE_WORK/lessons/$1.c
    if [ -L "$file" ]; then echo "refused lessons/$1.c is a symbolic link. Hand in the file itself."
    elif [ ! -e "$file" ]; then echo "missing lessons/$1.c does not exist."
    elif [ -d "$file" ]; then echo "refused lessons/$1.c is a folder, not a C file."
    elif [ ! -f "$file" ]; then echo "refused lessons/$1.c is not a regular file."
    elif ! head -c $((largest + 1)) "$file" >"$copy" 2>/dev/null; then
        echo "refused lessons/$1.c cannot be read."
    elif [ "$(stat -c %s "$copy")" -gt $largest ]; then
        echo "refused lessons/$1.c is larger than 1 MiB. No lesson needs that much."
    fi
}

# The record of one lesson in GRADE_WORK/NAME.record, for "records" in grade.jq: a word and a text
# on each line.
lesson() { # lesson NAME
    local name=$1 base=$GRADE_WORK/$1 file=$GRADE_WORK/lessons/$1.c check ended=0 refusal
    local limit=${CHECK_LESSON_SECONDS:-600} row
    refusal=$(hand_in "$name")
    {
        echo "lesson $name"
        while read -r row; do
            [[ $row != "$name "* ]] || echo "row ${row#* }"
        done <tests/lessons/baseline.txt
        sed -nE 's/^@test "(.*)" \{.*/name \1/p' "tests/lessons/$name.bats"
        [ ! -e "$file" ] || { printf 'file ' && sha256sum <"$file"; }
        [ -z "$refusal" ] || echo "$refusal"
    } >"$base.record"
    if [ -n "$refusal" ]; then
        : >"$base.done"
        return
    fi
    protect_lesson
    TAP=1 CHECK_FOLDER=$base LESSON=$file CHECK_UNGRADED=$PWD/$base.ungraded \
        setpriv --pdeathsig TERM timeout --kill-after=2 "$limit" tests/tools/first_miss.sh "$name" \
        >"$base.tap" 2>&1 </dev/null &
    check=$!
    trap 'kill "$check"; wait "$check"; end_lesson; exit 143' TERM
    { wait "$check"; } 2>/dev/null || ended=$?
    trap - TERM
    end_lesson
    {
        if [ -s "$base.ungraded" ]; then
            sed 's/^/ungraded /' "$base.ungraded"
        elif [ "$ended" = 124 ]; then
            echo "ungraded The check of $name did not end within $limit seconds."
        elif [ "$ended" -gt 2 ]; then
            echo "ungraded The check of $name was ended by a signal, or failed (status $ended)."
        fi
        sed 's/\x00//g; s/^/tap /' "$base.tap"
    } >>"$base.record"
    rm -rf "$base" 2>/dev/null || { chmod -R u+rwX "$base" && rm -rf "$base"; }
    : >"$base.done"
}
if [ "${1:-}" = lesson ]; then lesson "$2"; exit; fi

# ---- the grading ----

baseline=false
case ${1:-} in
'') ;;
baseline) baseline=true; unset STUDENT ONLY RESUME ;;
*) fail "grade.sh: the argument must be baseline, or none." ;;
esac
out=${OUT:-$PWD/build/grade}
[[ $out == /* ]] || out=$caller/$out
source=lessons
if [ -n "${STUDENT:-}" ]; then
    source=$STUDENT
    [[ $source == /* ]] || source=$caller/$source
    [ -d "$source" ] || fail "STUDENT=$STUDENT: there is no such folder."
    if [ -L "$source/lessons" ]; then
        fail "STUDENT=$STUDENT: its folder lessons is a symbolic link."
    fi
    [ ! -d "$source/lessons" ] || source=$source/lessons
fi
export SEED=${SEED:-1}
[[ $SEED =~ ^[0-9]{1,9}$ ]] || fail "SEED=$SEED: give a whole number with at most nine digits."
for tool in jq flock; do
    type -P $tool >/dev/null || fail "$tool is not installed. make grade installs it."
done
[ -e build/simulator/libcudart.so.13 ] ||
    fail "The simulated device is not built. Type: make simulator"

lessons=() CHECK_COMPILER=
while read -r key value; do
    case $key in
    lesson) lessons+=("$value") ;;
    compiler) CHECK_COMPILER+=${CHECK_COMPILER:+$'\n'}$value ;;
    esac
done < <(make -s grader)
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
workbook=$(printf '{"commit": "%s", "checks": "%s"}' "$commit" "$checks")

if [ -n "${RESUME:-}" ] && [ -e "$out/grade.json" ]; then
    sums=$(for name in "${lessons[@]}"; do
        sum=null
        if [ -f "$source/$name.c" ] && [ ! -L "$source/$name.c" ]; then
            sum=\"$(head -c $((largest + 1)) "$source/$name.c" | sha256sum | cut -c 1-64)\"
        fi
        printf '{"lesson": "%s", "file": %s}' "$name" "$sum"
    done | jq -s -c .)
    if jq -e --argjson workbook "$workbook" --argjson sums "$sums" --argjson seed "$SEED" '
        .workbook == $workbook and .seed == $seed and (.lessons | map({lesson, file})) == $sums
        and all(.lessons[]; .status != "ungraded")' "$out/grade.json" >/dev/null 2>&1; then
        exit 0
    fi
fi

(umask "$mask" && mkdir -p "$out") || fail "OUT=$out cannot be created."
rm -rf "$out/grade.json" "$out/junit.xml" "$out/gradescope" "$out/prairielearn"
mkdir -p build/check
work=$(mktemp -d "${GRADE_FOLDER:-build/check}/grade.XXXXXX") || exit 2
chmod 755 "$work"
export GRADE_WORK=$work GRADE_SOURCE=$source CHECK_SEAL=1
# Every process of this grading but the students' own has this folder open.
exec 8<"$work"
flock -s 8
# shellcheck disable=SC2317  # called by the trap
finish() {
    # With it end the lessons, and with each of them its check and what that runs.
    [ -z "${all:-}" ] || kill "$all" 2>/dev/null
    exec 8<&-
    flock -w 10 "$work" true
    for _ in {1..50}; do
        chmod -R u+rwX "$work" 2>/dev/null
        rm -rf "$work" 2>/dev/null && break
        sleep 0.1
    done
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$work/lessons"

# What a student's program may do. grade_class.sh has tried it, for all students of a class.
if [ -n "${GRADE_PROTECTED:-}" ]; then
    # shellcheck source=/dev/null
    source "$GRADE_PROTECTED"
else
    protect "$work"
fi
[ -z "$not_protected" ] ||
    fail "A program that is known to be correct could not be compiled and run here, so nothing was \
graded:" "$not_protected"
[ "$(id -u)" != 0 ] || [ -n "$PROTECT_USER" ] || [ -z "${STUDENT:-}" ] ||
    fail "Nothing was graded: the student's programs would run as root, because no other user can \
read what was built in $PWD. Move the workbook to a folder that every user may enter, and build it \
with umask 022."
{
    printf 'Sandbox: %s.' "$sandbox"
    if [ "${#not_promised[@]}" != 0 ]; then
        printf ' Not promised here:'
        printf ' %s,' "${not_promised[@]}" | sed 's/,$/./'
    fi
    echo
}

# ---- the checks ----

printf '%s\n' "${lessons[@]}" | setpriv --pdeathsig TERM xargs -P "${JOBS:-$(nproc)}" -I{} \
    setpriv --pdeathsig TERM tests/tools/grade.sh lesson {} &
all=$!
wait $all
all=

records=("${lessons[@]/#/"$work/"}")
records=("${records[@]/%/.record}")
for name in "${lessons[@]}"; do
    [ -e "$work/$name.done" ] ||
        fail "The check of $name was interrupted: nothing was graded."
done
mkdir "$work/gradescope" "$work/prairielearn"
width=100
[ ! -t 1 ] || width=$(tput cols 2>/dev/null || echo 80)
(
    set -o pipefail
    cat "${records[@]}" |
        jq -L tests/tools 'include "grade";
            grade($workbook; $sandbox; $promised; $seed; $work; $baseline; [inputs])
                | files($width)' -n -R -r --argjson workbook "$workbook" \
            --arg sandbox "$sandbox" --argjson seed "$SEED" --arg work "$work" \
            --argjson baseline $baseline --argjson width "$width" \
            --arg promised "$(printf '%s\n' "${not_promised[@]}")" |
        awk -v folder="$work" \
            '/^\001/ { file = folder "/" substr($0, 2); printf "" >file; next } { print >file }'
) || fail "The grade could not be written."

if [ "$baseline" = true ]; then
    {
        echo "# For each lesson: the tests of its check, and how many of them the starter passes."
        echo "# Written by tests/tools/grade.sh baseline."
        jq -r '.lessons[] | ([.tests[] | select(.result == "passed")] | length) as $given
            | "\(.lesson) \(.tests | length) \($given)"' "$work/grade.json"
    } >"$work/baseline.txt"
    mv "$work/baseline.txt" tests/lessons/baseline.txt
    exit
fi

(
    umask "$mask"
    flock 9   # two gradings into one folder: each leaves all of its files
    mkdir -p "$out/gradescope" "$out/prairielearn"
    # The grade last: where it is, the others are.
    for file in junit.xml gradescope/results.json prairielearn/results.json grade.json; do
        { cp "$work/$file" "$out/$file.new" && mv "$out/$file.new" "$out/$file"; } || exit
    done
) 9<"$out" || fail "The grade could not be written to $out."

cat "$work/table"
echo "The whole grade: ${out#"$PWD/"}/grade.json"
[ -n "${STUDENT:-}${OUT:-}" ] || tests/tools/progress.sh grade "$work/grade.json"
[ ! -s "$work/ungraded" ] || fail "$(<"$work/ungraded")"
