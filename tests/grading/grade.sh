#!/usr/bin/env bash
# Grades one student: the check of every lesson, a table, and OUT/grade.json with what is derived
# from it.
#
#   grade.sh           grades, as these say:
#     STUDENT=FOLDER   the student's files: FOLDER/lessons/NN_name.c or FOLDER/NN_name.c, or in the
#                      one folder below that has such files; left out: lessons/
#     OUT=FOLDER       where the grade is written; left out: build/grade
#     ONLY="01 06"     these lessons only
#     JOBS=N           so many checks at a time; left out: one for each processor
#     SEED=N           the checks draw their sizes and orders from it and from the student's file,
#                      so that another file is judged with other ones; left out: 1
#     SEED=draw        a number that no one knows before; grade.json has it
#     RESUME=1         nothing is done when OUT/grade.json grades these very files with these checks
#     SANDBOX=none     a student is graded also where this machine allows no sandbox
#     GRADE_OWN=1      the files are the grader's own, as in the book: where root can become no
#                      other user, they run as root
#
# Exit status: 0 the grade is written, with any number of points; 2 something could not be graded,
# and a sentence on stderr names it.
#
# The student's files are only read: each is copied to a folder of this grading (lessons.py),
# compiled and run there in a sandbox (tests/grading/sandbox.sh). The first line says which sandbox
# this machine allows, and what cannot be promised without one. The results come from what the
# checks print, which no program of a student can reach, and are written when all of those have
# ended.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../../tools/usage.sh"
takes '' "$@"
caller=$PWD
cd "${0%/*}/../.." || exit 2
home=$PWD
mask=$(umask)
export LC_ALL=C.UTF-8   # the compiler's words, and what counts as a letter, are the same everywhere
umask 022   # the user of the programs reads the copies
unset MAKEFLAGS MAKELEVEL MFLAGS LESSON SANITIZE BACKEND
unset CHECK_FOLDER CHECK_PROGRAM CHECK_TEST CHECK_KILOBYTES CHECK_USER CHECK_CGROUP

say() { printf '%s\n' "$@" >&2; }
fail() { say "$@"; exit 2; }
# shellcheck source=tests/grading/protect.sh
source tests/grading/protect.sh

# Python's start would be a third of most gradings: this is the interpreter itself, without what a
# person has set up around it, and what it has compiled is kept for the next one.
python=(python3 -EsS -X pycache_prefix=build/python)

out=${OUT:-$home/build/grade}
[[ $out == /* ]] || out=$caller/$out
student=
if [ -n "${STUDENT:-}" ]; then
    student=$STUDENT
    [[ $student == /* ]] || student=$caller/$student
    [ -d "$student" ] || fail "STUDENT=$STUDENT: there is no such folder."
    if [ -L "$student/lessons" ]; then
        fail "STUDENT=$STUDENT: its folder lessons is a symbolic link."
    fi
fi
[ "${SEED:-}" != draw ] || SEED=$(shuf -i 1-999999999 -n 1)
export SEED=${SEED:-1}
[[ $SEED =~ ^[0-9]{1,9}$ ]] ||
    fail "SEED=$SEED: give a whole number with at most nine digits, or draw."
for tool in python3 flock; do
    type -P $tool >/dev/null || fail "$tool is not installed. make grade installs it."
done
: "${GRADE_PYTHON:=$(python3 -ESc 'import sys; print(sys.executable)')}"
export GRADE_PYTHON
python[0]=$GRADE_PYTHON
[[ ${JOBS:-1} =~ ^[1-9][0-9]*$ ]] || fail "JOBS=$JOBS: expected a number from 1 on."
[ -e build/simulator/libcudart.so.13 ] ||
    fail "The simulated device is not built. Type: make simulator"

# What grades: a commit, and a sum of the files that decide.
commit=$(commit_here)
checks=$(find Makefile lessons/*.h simulator tests/build.mk tests/{grading,lessons} \
    tools lessons/traces -type f -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-64)
export ABOUT_COMMIT=$commit ABOUT_CHECKS=$checks   # for grade.py
reach_workbook || exit 2
trap leave_workbook EXIT

lessons=() CHECK_COMPILER=
while read -r key value; do
    case $key in
    lesson) lessons+=("$value") ;;
    compiler) CHECK_COMPILER+=${CHECK_COMPILER:+$'\n'}$value ;;
    esac
done < <(make -s grader)
all_lessons=("${lessons[@]}")
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

# About the files of a student. A class has it in its tables.
note() { [ -n "${GRADE_OF_CLASS:-}" ] || say "STUDENT=$STUDENT: $1"; }

# A student may have handed in an archive in the place of files. It is named, and not unpacked.
named_archive() {
    local file
    file=$(find "$student" -mindepth 1 -maxdepth 3 -type f \( -iname '*.zip' -o -iname '*.7z' \
        -o -iname '*.rar' -o -iname '*.tar' -o -iname '*.tgz' -o -iname '*.tar.*' \
        -o -iname '*.gz' -o -iname '*.xz' \) -printf '%P\n' 2>/dev/null | LC_ALL=C sort | head -n 1)
    [ -n "$file" ] || return
    GRADE_ELSEWHERE=" There is an archive, \"${file//[![:print:]]/?}\": unpack it."
}

# Sets source to the folder with the student's files: lessons/ below STUDENT, STUDENT, or else the
# one folder below it that has files with lessons' names, as an unpacked archive has.
find_source() {
    local file folder folders=() named=()
    for source in "$student/lessons" "$student"; do
        for file in "${all_lessons[@]}"; do
            [ ! -e "$source/$file.c" ] && [ ! -L "$source/$file.c" ] || return 0
        done
    done
    while IFS= read -r -d '' file; do
        folder=${file%/*} file=${file##*/}
        [[ " ${all_lessons[*]} " == *" ${file%.c} "* ]] || continue
        [ "${folders[*]: -1}" = "$folder" ] || folders+=("$folder")
    done < <(find "$student" -mindepth 1 -maxdepth 6 \( -name __MACOSX -o -name '.*' \) -prune \
        -o -name '[0-9][0-9]_*.c' -print0 | LC_ALL=C sort -z)
    for folder in "${folders[@]}"; do [ "${folder##*/}" != lessons ] || named+=("$folder"); done
    if [ "${#named[@]}" = 1 ] || [ "${#folders[@]}" = 1 ]; then
        source=${named[0]:-${folders[0]}}
        note "its files are in ${source#"$student/"}."
    elif [ "${#folders[@]}" != 0 ]; then
        GRADE_ELSEWHERE=" Several folders have files with lessons' names, so none was chosen:"
        GRADE_ELSEWHERE+=$(printf ' %s,' "${folders[@]#"$student/"}")
        GRADE_ELSEWHERE=${GRADE_ELSEWHERE//[![:print:]]/?} GRADE_ELSEWHERE=${GRADE_ELSEWHERE%,}.
        note "${GRADE_ELSEWHERE# }"
    elif named_archive; then
        note "${GRADE_ELSEWHERE# }"
    else
        note "it has no file with a lesson's name."
    fi
}
source=$home/lessons folder=lessons GRADE_ELSEWHERE=
if [ -n "$student" ]; then
    find_source
    folder=.
    [ "$source" = "$student" ] || folder=${source#"$student/"}
fi
export GRADE_SOURCE=$source GRADE_ELSEWHERE

if [ -n "${RESUME:-}" ] && [ -e "$out/grade.json" ]; then
    "${python[@]}" tests/grading/grade.py holds "$out/grade.json" "$folder" "${lessons[@]}" &&
        exit 0
fi

(umask "$mask" && mkdir -p "$out") || fail "OUT=$out cannot be created."
rm -rf "$out/grade.json" "$out/junit.xml" "$out/gradescope" "$out/prairielearn"
mkdir -p build/check
work=$(mktemp -d "${GRADE_FOLDER:-build/check}/grade.XXXXXX") || exit 2
chmod 755 "$work"
export CHECK_SEAL=1
places=()
# Every process of this grading but the students' own has this folder open.
exec 8<"$work"
flock -s 8
# shellcheck disable=SC2317  # called by the trap
finish() {
    local CHECK_CGROUP
    # With it end the lessons, and with each of them its check and what that runs.
    [ -z "${all:-}" ] || kill "$all" 2>/dev/null
    exec 8<&-
    flock -w 10 "$work" true
    for CHECK_CGROUP in "${places[@]}"; do end_lesson; done
    for _ in {1..50}; do
        chmod -R u+rwX "$work" 2>/dev/null
        rm -rf "$work" 2>/dev/null && break
        sleep 0.1
    done
    leave_workbook
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
[ "$(id -u)" != 0 ] || [ -n "$PROTECT_USER${GRADE_OWN:-}" ] || [ -z "${STUDENT:-}" ] ||
    fail "Nothing was graded: the student's programs would run as root, because here root can \
become no other user who can run what was built in $PWD."
if [ "$sandbox" = none ] && [ -n "${STUDENT:-}" ] && [ -z "${GRADE_OWN:-}" ]; then
    [ "${SANDBOX:-}" = none ] || fail "Nothing was graded: this machine allows no sandbox, so \
students' programs would reach what their user reaches. SANDBOX=none grades nevertheless."
    readable=$([ -z "$PROTECT_USER" ] || WORKBOOK_AT=$home readable_here)
    [ -z "$readable" ] || fail "Nothing was graded: without a sandbox a student's program can read \
${readable%%$'\n'*}. Keep others out, and grade again: chmod 700 ${home@Q}"
fi
{
    printf 'Sandbox: %s.' "$sandbox"
    if [ "${#not_promised[@]}" != 0 ]; then
        printf ' Not promised here:'
        printf ' %s,' "${not_promised[@]}" | sed 's/,$/./'
    fi
    echo
}

# ---- the checks ----

for ((i = 1; i <= ${JOBS:-$(nproc)}; i++)); do
    CHECK_CGROUP=
    [ -z "$PROTECT_CGROUP" ] || own_cgroup "$PROTECT_CGROUP" "$i"
    places+=("${CHECK_CGROUP:-}")
done
unset CHECK_CGROUP
width=100
[ ! -t 1 ] || width=$(tput cols 2>/dev/null || echo 80)
export CHECK_PLACES ABOUT_SANDBOX=$sandbox ABOUT_PROMISED
CHECK_PLACES=$(IFS=,; echo "${places[*]}")
ABOUT_PROMISED=$(printf '%s\n' "${not_promised[@]}")
setpriv --pdeathsig TERM "${python[@]}" tests/grading/grade.py write "$work" "$folder" "$width" \
    "${lessons[@]}" </dev/null &
all=$!
wait $all || fail "The grade could not be written."
all=

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
echo "The whole grade: ${out#"$home/"}/grade.json"
[ -n "${STUDENT:-}${OUT:-}" ] ||
    bash "$home/tools/progress.sh" grade "$PWD/$work/grade.json"
[ ! -s "$work/ungraded" ] || fail "$(<"$work/ungraded")"
