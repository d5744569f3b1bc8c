#!/usr/bin/env bash
# Grades a class: every folder in CLASS is a student, graded by tests/grading/grade.sh. GNU parallel
# grades several at a time, and class/report.py writes the tables and pages.
#
#   grade_class.sh            grades every student, then writes the tables
#   grade_class.sh batch I N  grades each N-th student, beginning with number I (from 0), and writes
#                             no table: one task of a job array
#   grade_class.sh collect    writes the tables of what is graded
#
#   CLASS=FOLDER       or the ZIP file with all submissions that Canvas or Moodle gives, or a folder
#                      of these: unpacked into OUT/handed-in (class/unpack.py)
#   OUT=FOLDER (build/class), ONLY="01 06", JOBS=N
#   SEED=N             what the checks draw their numbers from; left out: one is drawn for the class
#                      by its first grading, and kept in OUT/seed
#   SSHLOGIN=HOST,...  grades on these machines; ":" is this one. Each has the workbook, CLASS and
#                      OUT at the same paths
#   COURSE=FILE ROSTER=FILE   see class/course.py
#
# A second call grades only what has changed: a student's files, a check, the seed, what an
# interruption has left out, or what could not be graded. A student who cannot be graded has a row
# with the reason, and does not stop the others. Exit status: 0 every student has a grade; 2 a
# student has none.
#
# The queue runs in a process namespace of its own, which ends with this script, whatever ends it:
# nothing goes on grading.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../../tools/usage.sh"
takes '|batch;[0-9]+;[0-9]+|collect|student(-there)?;.*' "$@"
unset MAKEFLAGS MAKELEVEL MFLAGS   # a make inside this has no jobs of the one that called it
caller=$PWD
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
unset MAKEFLAGS MAKELEVEL MFLAGS
say() { printf '%s\n' "$@" >&2; }
fail() { say "$@"; exit 2; }
python=(python3 -B -EsS)

leash=(bwrap --die-with-parent --unshare-pid --dev-bind / / --proc /proc)
"${leash[@]}" true 2>/dev/null || leash=()

# ---- one student: student FOLDER and student-there FOLDER (on another machine), called below ----

# What this leaves in the student's folder does not depend on how often it is called: grade.json and
# what is derived from it, or errors.txt. The file begun marks a grading that has not ended.
student() { # student FOLDER
    local folder=$OUT/students/${1##*/} status=0 errors
    mkdir -p "$folder" && : >"$folder/begun" || return
    errors=$(STUDENT=$1 OUT=$folder JOBS=1 RESUME=1 GRADE_OF_CLASS=1 bash tests/grading/grade.sh \
        2>&1 >/dev/null) || status=$?
    if [ "$status" = 0 ]; then
        rm -f "$folder/errors.txt"
    else
        # Who it is about is known.
        printf '%s\n' "${errors//"STUDENT=$1: "/}" >"$folder/errors.txt"
        # An older grade is not this one's.
        [ "$folder/grade.json" -nt "$folder/begun" ] || rm -f "$folder/grade.json"
        say "Not graded: $(printf '%q' "${1##*/}"): $(head -n 1 "$folder/errors.txt")"
    fi
    [ -z "${GRADE_KEEP:-}" ] || keep "$1" "$folder"
    rm -f "$folder/begun"
    return "$status"
}

# Where the best submission counts: keeps this one and those that came before it, and grades what
# these checks have not graded.
keep() { # keep FOLDER RESULTS
    local keeper=(python3 -B -X utf8 tests/grading/class/keep.py) earlier kept=()
    [ ! -e "$2/grade.json" ] || "${keeper[@]}" "$1" "$2" graded || return
    for earlier in "$1"/.earlier/*/; do
        [ ! -d "$earlier" ] || "${keeper[@]}" "$earlier" "$2" || return
    done
    kept=("$2"/submissions/*/lessons)
    [ "${#kept[@]}" -gt 1 ] || return 0
    for earlier in "${kept[@]%/lessons}"; do
        STUDENT=$earlier OUT=$earlier JOBS=1 RESUME=1 GRADE_OF_CLASS=1 bash tests/grading/grade.sh \
            >/dev/null 2>&1
    done
}
case ${1:-} in
student) student "$2"; exit ;;
student-there) exec "${leash[@]}" bash tests/grading/grade_class.sh student "$2" ;;
esac

# ---- what is asked for ----

first=0 every=1
case "$# ${1:-}" in
'0 ' | '1 collect') ;;
'3 batch')
    first=$2 every=$3
    [[ $first =~ ^[0-9]+$ && $every =~ ^[1-9][0-9]*$ && $first -lt $every ]] ||
        fail "grade_class.sh batch $2 $3: the first number must be less than the second." ;;
esac
[ -n "${CLASS:-}" ] ||
    fail "Name the class: make grade-class CLASS=FOLDER, where FOLDER has a folder for each\
 student."
class=$CLASS
[[ $class == /* ]] || class=$caller/$class
[ -d "$class" ] || [[ -f $class && $class == *.zip ]] ||
    fail "CLASS=$CLASS: there is no such folder, and no such ZIP file."
[[ "${JOBS:-1}" =~ ^[1-9][0-9]*$ ]] || fail "JOBS=$JOBS: expected a number from 1 on."
[[ "${SEED:-1}" =~ ^[1-9][0-9]*$ ]] || fail "SEED=$SEED: expected a number from 1 on."
tools=(parallel python3)
[ -z "${SSHLOGIN:-}" ] || tools+=(ssh)
for tool in "${tools[@]}"; do
    type -P "$tool" >/dev/null || fail "$tool is not installed. make grade-class installs it."
done
OUT=${OUT:-$PWD/build/class}
[[ $OUT == /* ]] || OUT=$caller/$OUT
mkdir -p "$OUT/students" || fail "OUT=$OUT cannot be created."

# What Canvas or Moodle gave becomes a class. A task of a job array finds it unpacked.
case ${1:-} in
'')
    unpacked=0
    words=$(python3 -B -X utf8 tests/grading/class/unpack.py "$class" "$OUT/handed-in") ||
        unpacked=$?
    [ "$unpacked" -le 1 ] || fail "CLASS=$CLASS: $words"
    [ "$unpacked" != 0 ] || class=$OUT/handed-in ;;
*)  [ ! -d "$OUT/handed-in" ] || class=$OUT/handed-in ;;
esac

files=()
for name in COURSE ROSTER; do
    [ -n "${!name:-}" ] || continue
    file=${!name}
    [[ $file == /* ]] || file=$caller/$file
    files+=("--${name,,}" "$file")
done

students=() ignored=
while IFS= read -r -d '' entry; do
    printf -v name '%q' "${entry##*/}"
    case ${entry##*/} in
    __MACOSX) ignored+=", $name (made by an archiver)" ;;
    *)
        if [ -L "$entry" ]; then ignored+=", $name (a symbolic link)"
        elif [ ! -d "$entry" ]; then ignored+=", $name (no folder)"
        elif [[ ${entry##*/} == .* ]]; then ignored+=", $name (begins with a dot)"
        else students+=("$entry"); fi ;;
    esac
done < <(find "$class/" -mindepth 1 -maxdepth 1 -print0 | LC_ALL=C sort -z)
[ "${#students[@]}" != 0 ] || fail "CLASS=$CLASS: it has no folders, so there are no students."
[ -z "$ignored" ] || say "Not graded: ${ignored#, }."

# report ACTION: check reads COURSE and ROSTER, write writes the tables.
report() {
    printf '%s\0' "${students[@]##*/}" | (cd "$home" &&
        python3 -B -X utf8 tests/grading/class/report.py "$1" "$class" "$OUT" "${files[@]}")
}
if [ "${1:-}" = collect ]; then
    report write
    exit
fi
# Before hours of grading. It says whether the best submission counts, or the last.
GRADE_KEEP=$(report check) || exit 2
[ "$GRADE_KEEP" = best ] || GRADE_KEEP=
export GRADE_KEEP

# One grading at a time: of this class, or of this part of it.
part=$first.$every
exec {lock}>"$OUT/lock.$part"
flock -n "$lock" || fail "OUT=$OUT: another grading writes there. Wait for its end, or stop it."

# ---- the seed of the class ----

if [ -n "${SEED:-}" ]; then
    echo "$SEED" >"$OUT/seed"
else
    # The tasks of a job array draw at the same time; the link of the first one counts.
    shuf -i 1-999999999 -n 1 >"$OUT/seed.$part"
    ln "$OUT/seed.$part" "$OUT/seed" 2>/dev/null
    rm "$OUT/seed.$part"
    SEED=$(cat "$OUT/seed")
fi

# ---- the queue ----

# Once for all students; another machine does it for each.
# Where root's workbook is closed to the user of the programs, a copy of it grades.
if [ -z "${SSHLOGIN:-}" ]; then
    reached=$("${python[@]}" tests/grading/protect.py reach) || exit 2
    if [ -n "$reached" ]; then
        GRADE_COMMIT=$("${python[@]}" tests/grading/protect.py commit)
        export GRADE_COMMIT
        # shellcheck disable=SC2064  # its name now
        trap "rm -rf ${reached@Q}" EXIT
        cd "$reached" || exit 2
    fi
fi

# What a killed grading has left is found by its name.
work=build/check/class.$(printf '%s' "$OUT" | sha256sum | cut -c 1-12).$part
rm -rf "$work"
(umask 022 && mkdir -p "$work") || exit 2   # the user of the programs enters it
export OUT SEED GRADE_FOLDER=$work PARALLEL_SHELL=$BASH PARALLEL_HOME=$PWD/build/parallel
# What this machine allows is the same for each student. Other machines try it for each.
unset GRADE_PROTECTED
if [ -z "${SSHLOGIN:-}" ]; then
    "${leash[@]}" "${python[@]}" tests/grading/protect.py try "$work" >"$work/protected" &&
        export GRADE_PROTECTED=$PWD/$work/protected
fi

mine=()
for ((i = first; i < ${#students[@]}; i += every)); do mine+=("${students[i]}"); done

command=(bash tests/grading/grade_class.sh student)
options=(--null --ungroup --joblog "$OUT/joblog.$part")
if [ -n "${SSHLOGIN:-}" ]; then
    settings=$(printf ' %s' "OUT=${OUT@Q}" "SEED=$SEED" "GRADE_FOLDER=$work" "ONLY='${ONLY:-}'" \
        "GRADE_KEEP=$GRADE_KEEP")
    command=("cd ${PWD@Q} &&$settings bash tests/grading/grade_class.sh student-there")
    options+=(--sshlogin "$SSHLOGIN" --filter-hosts --jobs "${JOBS:-100%}")
else
    # A student's grading waits now and then: one more than there are processors.
    options+=(--jobs "${JOBS:-$(($(nproc) + 1))}")
fi
[ ! -t 2 ] || options+=(--bar)
if [ "${#leash[@]}" = 0 ]; then
    say "bubblewrap does not work here. If a signal 9 ends this script, the checks that it has\
 started run to their end."
fi

set -m   # a process group: one signal ends the queue
"${leash[@]}" parallel "${options[@]}" "${command[@]}" {} \
    < <(printf '%s\0' "${mine[@]}") {lock}>&- &
queue=$!
stop() { exec 2>/dev/null; kill -KILL -- "-$queue"; wait; rm -rf "$work"; exit "$1"; }
trap 'stop 130' INT
trap 'stop 143' TERM HUP
# GNU parallel returns how many students have no grade, at most 101. More is its own failure.
ended=0
wait "$queue" || ended=$?
rm -rf "$work"
[ "$ended" -le 101 ] || fail "GNU parallel ended with status $ended: not every student was graded.\
 Run the same command again."
[ "$every" = 1 ] || exit $((ended == 0 ? 0 : 2))
report write
