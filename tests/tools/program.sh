#!/usr/bin/env bash
# Compiles a student's program: program.sh FILE.c PROGRAM [FILE THAT IT INCLUDES...]
#
# With CHECK_INSPECT="NN_name..." the object is inspected for that lesson before it is linked
# (tests/tools/inspect.sh).
#
# The compiler reads a file that is not trusted to behave: it gets 10 seconds of a processor (twice
# CHECK_SECONDS), 2 GiB and files of 128 MiB. What it printed comes on stdout. Exit status: 0; 1 the
# file does not compile; 124 the compiler was stopped.
#
# For a grader (tests/tools/run.sh describes CHECK_SANDBOX, CHECK_USER, CHECK_CGROUP and
# CHECK_UNGRADED): it works in a sandbox, where of the workbook it sees the headers in lessons, the
# simulated device and the files that are named. CHECK_COMPILER is the compiler's command, a word
# on each line; CHECK_HEADERS is the folder of the toolkit's headers.
set -u
# shellcheck source=tests/tools/c_file.sh
source "${0%/*}/c_file.sh"
# shellcheck source=tests/tools/sandbox.sh
source "${0%/*}/sandbox.sh"
root=$PWD file=$1 program=$2 status=0
shift 2
seconds=30
[ -z "${CHECK_SANDBOX:-}" ] || seconds=60
limits=(prlimit --cpu=$((2 * ${CHECK_SECONDS:-5})) --as=2147483648 --fsize=134217728 --core=0)

ungraded() { [ -z "${CHECK_UNGRADED:-}" ] || echo "$1" >"$CHECK_UNGRADED"; }

in_sandbox() { # in_sandbox FILE THAT IT INCLUDES...
    local out=$root/${program%/*}/compiled library=build/simulator/libcudart.so.13
    local box compiler arguments=() seen object
    expect_c_file "$file" || return
    [ -z "${CHECK_CGROUP:-}" ] || echo "$BASHPID" >"$CHECK_CGROUP/cgroup.procs"
    [ -d "$out" ] || install -d ${CHECK_USER:+-o "$CHECK_USER" -g "$CHECK_USER"} "$out"
    # Only the files that are named are seen of a workbook in a folder of the system.
    [[ $root != /usr/* ]] || arguments=(--tmpfs "$root")
    for seen in lessons/*.h simulator/user_kernels.h "$library" "$file" "$@"; do
        [[ $seen == /* ]] || seen=$root/$seen
        arguments+=(--ro-bind "$seen" "$seen")
    done
    object=$out/${program##*/}.o
    arguments+=(--ro-bind "$CHECK_HEADERS" "$root/build/cuda/include"
        --bind "$out" "$out" --chdir "$root" --setenv PATH "$PATH" --setenv LC_ALL C.UTF-8)
    mapfile -t compiler <<<"$CHECK_COMPILER"
    sandbox compile --json-status-fd 3 "${arguments[@]}" -- \
        "${limits[@]}" --nproc="${CHECK_PROCESSES:-64}" "${compiler[@]}" -fvisibility=hidden \
        -c "$file" -o "$object"
    timeout --signal=KILL "$seconds" env -i "${box[@]}" 3>"$program.began" || {
        status=$?
        # Bubblewrap reports a status when the compiler has begun.
        if [ "$status" != 137 ] && [[ $(<"$program.began") != *'"exit-code"'* ]]; then
            ungraded "The sandbox could not be made: $(head -n 1 "$program.words")"
        fi
        does_not_compile "$file"
        return "$status"
    }
    { [ ! -L "$object" ] && [ -f "$object" ]; } || return
    # shellcheck disable=SC2086  # names
    [ -z "${CHECK_INSPECT:-}" ] || tests/tools/inspect.sh $CHECK_INSPECT "$object" || return
    "${limits[@]}" "${compiler[@]}" "$object" -o "$program" "$library" -lm || {
        echo "$file does not compile: it lacks what the lines above refer to."
        return 1
    }
}

if [ -n "${CHECK_SANDBOX:-}" ]; then
    in_sandbox "$@"
else
    timeout --signal=KILL "$seconds" "${limits[@]}" make program LESSON="$file" \
        PROGRAM="$program" BACKEND= SANITIZE="${SANITIZE:-}" INSPECT="${CHECK_INSPECT:-}"
fi </dev/null >"$program.words" 2>&1 || status=$?
[ ! -s "$program.words" ] || head -c 1000000 "$program.words"
[ "$status" != 0 ] || exit 0
# What the tools say of their own end differs from one time to the next.
ends='signal terminated program|terminated with signal|out of memory|memory exhausted'
! grep -qE "^([^ ]*[/-])?(gcc|cc|clang|cc1|as|ld|collect2)[^ :]*: .*($ends)|^virtual memory" \
    "$program.words" || status=124
[ "$status" = 124 ] || [ "$status" = 137 ] || exit 1
[ "$SECONDS" -lt "$seconds" ] ||
    ungraded "The compiler did not end: this machine was too busy."
exit 124
