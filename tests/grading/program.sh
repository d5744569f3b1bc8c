#!/usr/bin/env bash
# Compiles a student's program: program.sh FILE.c PROGRAM [FILE THAT IT INCLUDES...]
#
# With CHECK_INSPECT="NN_name [FUNCTION...]" the object is inspected for that lesson before it is
# linked (object.sh beside this).
#
# The tools read a file that is not trusted to behave: each gets 10 seconds of a processor (twice
# CHECK_SECONDS), 2 GiB and files of 128 MiB. What they printed comes on stdout. Exit status: 0; 1
# the file does not compile, or is refused; 124 the compiler was stopped.
#
# For a grader (tests/grading/run.sh describes CHECK_SANDBOX, CHECK_USER, CHECK_CGROUP, CHECK_NAME
# and CHECK_UNGRADED): for root all of it works as CHECK_USER, and where there is one in a sandbox,
# where of the workbook it sees the headers in lessons, the simulated device, object.sh and what
# that reads, and the files that are named. CHECK_HEADERS is the folder of the toolkit's headers.
# CHECK_COMPILER is the compiler's command, a word on each line; without it, make gives the command.
set -u
export LC_ALL=C.UTF-8   # the compiler's words
# shellcheck source=tools/c_file.sh
source "${0%/*}/../../tools/c_file.sh"
# shellcheck source=tests/grading/sandbox.sh
source "${0%/*}/sandbox.sh"
root=$PWD file=$1 program=$2 status=0
shift 2
seconds=30
[ -z "${CHECK_SANDBOX:-}" ] || seconds=60
limits=(prlimit --cpu=$((2 * ${CHECK_SECONDS:-5})) --as=2147483648 --fsize=134217728 --core=0)

ungraded() { [ -z "${CHECK_UNGRADED:-}" ] || echo "$1" >"$CHECK_UNGRADED"; }

# As the user who is no person, where there is one, in a folder of its own and where possible in a
# sandbox. Without one it reads what that user may read.
for_grader() { # for_grader FILE THAT IT INCLUDES...
    local out=$root/${program%/*}/compiled compiler command result
    local library=build/simulator/libcudart.so.13
    expect_c_file "$file" || return
    [ -z "${CHECK_CGROUP:-}" ] || echo "$BASHPID" >"$CHECK_CGROUP/cgroup.procs"
    [ -d "$out" ] || install -d -m 700 ${CHECK_USER:+-o "$CHECK_USER" -g "$CHECK_USER"} "$out"
    result=$out/${program##*/}
    mapfile -t compiler <<<"$CHECK_COMPILER"
    command=("${limits[@]}" --nproc="${CHECK_PROCESSES:-64}" bash tests/grading/object.sh "$file"
        "$result" "$library" "${compiler[@]}")
    if [ -n "${CHECK_SANDBOX:-}" ]; then
        in_sandbox "$@" || return
    else
        timeout --signal=KILL "$seconds" setpriv --reuid="$CHECK_USER" --regid="$CHECK_USER" \
            --clear-groups --no-new-privs env -i PATH="$PATH" TMPDIR="$out" LC_ALL=C.UTF-8 \
            CHECK_INSPECT="${CHECK_INSPECT:-}" "${command[@]}" || return
    fi
    [ ! -L "$result" ] && [ -f "$result" ] && cp "$result" "$program"
}

in_sandbox() { # in_sandbox FILE THAT IT INCLUDES...: the command of for_grader
    local box arguments=() seen attempt
    for seen in lessons/*.h simulator/user_kernels.h "$library" tools/c_file.sh \
        tests/grading/{object,inspect}.sh tests/grading/imports.txt "$file" "$@"; do
        [[ $seen == /* ]] || seen=$root/$seen
        arguments+=(--ro-bind "$seen" "$seen")
    done
    arguments+=(--ro-bind "$CHECK_HEADERS" "$root/build/cuda/include"
        --bind "$out" "$out" --chdir "$root" --setenv PATH "$PATH" --setenv LC_ALL C.UTF-8
        --setenv CHECK_INSPECT "${CHECK_INSPECT:-}")
    sandbox compile --json-status-fd 3 "${arguments[@]}" -- "${command[@]}"
    for attempt in once again; do
        status=0
        (exec -c timeout --signal=KILL "$seconds" "${box[@]}") 3>"$program.began" || status=$?
        # Bubblewrap reports a status when what it ran has begun and ended.
        if [ "$status" = 137 ] || [[ $(<"$program.began") == *'"exit-code"'* ]]; then break; fi
        [ $attempt = once ] || ungraded "$(sandbox_failed "$(head -n 1 "$program.words")")"
    done
    return "$status"
}

# Nothing but its time ended the compiler. Is the machine as slow with the lesson's solution?
machine_is_slow() {
    local solution=solutions/${CHECK_NAME:-}.c start=$SECONDS
    [ -e "$solution" ] || solution=lessons/$CHECK_NAME.c
    [ -e "$solution" ] || return 0
    CHECK_UNGRADED='' CHECK_NAME='' "$BASH" tests/grading/program.sh "$solution" \
        "$program.solution" >/dev/null
    [ $((SECONDS - start)) -ge $((seconds / 4)) ]
}

if [ -n "${CHECK_SANDBOX:-}" ] || [[ -n ${CHECK_COMPILER:-} && -n ${CHECK_USER:-} ]]; then
    for_grader "$@"
elif [ -n "${CHECK_COMPILER:-}" ] && [ -z "${SANITIZE:-}" ]; then
    # What make would run, without the time that make takes to read the Makefile.
    mapfile -t compiler <<<"$CHECK_COMPILER"
    timeout --signal=KILL "$seconds" "${limits[@]}" "$BASH" tests/grading/object.sh "$file" \
        "$program" build/simulator/libcudart.so.13 "${compiler[@]}"
else
    timeout --signal=KILL "$seconds" "${limits[@]}" make program LESSON="$file" \
        PROGRAM="$program" BACKEND= SANITIZE="${SANITIZE:-}" INSPECT="${CHECK_INSPECT:-}"
fi </dev/null >"$program.words" 2>&1 || status=$?
[ ! -s "$program.words" ] || head -c 1000000 "$program.words"
[ "$status" != 0 ] || exit 0
folders=("${program%/*}")
[ -n "${CHECK_SANDBOX:-}" ] || folders+=("${TMPDIR:-/tmp}")
full=$(expect_room "${folders[@]}") || {
    echo "$full"
    ungraded "$full"
    exit 1
}
# What the tools say of their own end differs from one time to the next. It is their last words, and
# names no place in a file; in other lines it could be the student's, who names files by #line.
ends='signal terminated program|terminated with signal|out of memory|memory exhausted'
said=(-e '^compilation terminated' -e ' does not compile' -e '^make' -e '^Please ' -e '^See <')
! grep -v "${said[@]}" "$program.words" |
    tail -n 1 | grep -vE ':[0-9]+: ' |
    grep -qE "^([^ ]*[/-])?(gcc|cc|clang|cc1|as|ld|collect2)[^ :]*: .*($ends)|^virtual memory" ||
    status=124
[ "$status" = 124 ] || [ "$status" = 137 ] || exit 1
if [ "$SECONDS" -ge "$seconds" ] && machine_is_slow; then
    ungraded "The compiler did not end: this machine was too busy."
fi
exit 124
