# shellcheck shell=bash
# What this machine allows a grader to protect itself with. Sourced in the workbook's folder.
#
#   protect FOLDER    tries it with a program that is known to be correct, and exports what
#                     program.sh, run.sh and sandbox.sh beside it read. sandbox is "bubblewrap" or
#                     "none"; not_promised lists what students' programs can still do here;
#                     not_protected says why no program runs at all
#   protected         prints what protect has set and exported, for another shell to source
#   reach_workbook    for root: goes to a copy of the workbook where no other user can reach this
#   readable_here     what a program can read here that no student may see, without a sandbox
#   leave_workbook    removes that copy
#   commit_here       the commit of the workbook, also in such a copy
#   own_cgroup FOLDER makes a cgroup for the programs of a lesson; end_lesson removes it

# The memory of a student's programs, and of the compiler.
memory=2147483648

# Makes a cgroup below the folder that limits it: CHECK_CGROUP.
own_cgroup() { # own_cgroup FOLDER [NUMBER]
    local new=$1/workbook.$BASHPID${2:+.$2}
    mkdir "$new" 2>/dev/null || return
    if { echo $memory >"$new/memory.max"; } 2>/dev/null; then
        { echo 0 >"$new/memory.swap.max"; } 2>/dev/null
        CHECK_CGROUP_EVENTS=$new/memory.events
    elif { echo $memory >"$new/memory.limit_in_bytes"; } 2>/dev/null; then
        { echo $memory >"$new/memory.memsw.limit_in_bytes"; } 2>/dev/null
        CHECK_CGROUP_EVENTS=$new/memory.oom_control
    else
        rmdir "$new"
        return 1
    fi
    export CHECK_CGROUP=$new CHECK_CGROUP_EVENTS
}

end_lesson() {
    [ -n "${CHECK_CGROUP:-}" ] || return 0
    for _ in {1..100}; do   # the last of its processes may be about to end
        ! rmdir "$CHECK_CGROUP" 2>/dev/null || return 0
        sleep 0.02
    done
}

commit_here() { # prints the commit, where git knows one for this very folder
    if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
        git rev-parse HEAD 2>/dev/null && return
    fi
    echo "${GRADE_COMMIT:-unknown}"
}

# As root a program of a student runs as another user, who cannot enter a folder that is root's
# alone, such as /root. Then the grading goes on in a copy of what decides. Others can enter its
# folder and read what was built, but neither list it nor read the solutions.
as_another=(setpriv --reuid=61200 --regid=61200 --clear-groups)
reach_workbook() {
    local words
    reached=
    if [ "$(id -u)" != 0 ] || ! "${as_another[@]}" true 2>/dev/null ||
        "${as_another[@]}" test -r "$PWD/build/simulator/libcudart.so.13"; then
        return 0
    fi
    GRADE_COMMIT=$(commit_here)
    export GRADE_COMMIT
    reached=$(mktemp -d "${TMPDIR:-/tmp}/workbook.XXXXXX") || return
    if ! words=$(copy_workbook 2>&1) || ! cd "$reached"; then
        leave_workbook
        echo "The workbook could not be copied to ${TMPDIR:-/tmp}: ${words##*$'\n'}" >&2
        return 1
    fi
}

copy_workbook() {
    local parts=(Makefile lessons simulator tools) headers
    [ ! -d solutions ] || parts+=(solutions)   # a student's workbook has none
    headers=$(realpath build/cuda/include)
    mkdir -p "$reached"/{solutions,tests} "$reached"/build/{check,cuda,simulator} &&
        cp -r "${parts[@]}" "$reached" &&
        cp -r tests/{build.mk,grading,lessons} "$reached/tests" &&
        # Thousands of files, which another user can often read where they are.
        if "${as_another[@]}" test -r "$headers/cuda_runtime_api.h"; then
            ln -s "$headers" "$reached/build/cuda/include"
        else
            cp -rL "$headers" "$reached/build/cuda/include"
        fi &&
        cp build/simulator/libcudart.so.13 "$reached/build/simulator" &&
        chmod -R u+rwX,go=rX "$reached" &&
        chmod 711 "$reached" "$reached/build/check" &&
        chmod 700 "$reached"/{solutions,tests/lessons}
}

# Without a sandbox, as root, a program runs as another user, and reads what that user may read.
readable_here() {
    local hidden
    for hidden in "${WORKBOOK_AT:-$PWD}"/{solutions,tests/lessons,.git}; do
        ! "${as_another[@]}" test -r "$hidden" 2>/dev/null || echo "$hidden"
    done
}

leave_workbook() {
    [ -z "${reached:-}" ] || rm -rf "$reached"
}

# Copies the tools inside of a sandbox, and the libraries that they and a lesson's program need,
# each to its place below CHECK_SEEN: three folders are shown in less time than twenty files. The
# copy is kept in build/ for the next grading, as long as the machine has these very files.
copy_seen() { # copy_seen PROGRAM
    local tools tool files sum top=${PWD#/} new=$PWD/build/seen.new.$BASHPID
    mapfile -t tools < <(type -P prlimit setpriv addr2line)
    mapfile -t files < <(
        printf '%s\n' "${tools[@]}"
        # What ldd does, which begins each program three times.
        for tool in "$1" "${tools[@]}"; do
            LD_LIBRARY_PATH=$PWD/build/simulator LD_TRACE_LOADED_OBJECTS=1 "$tool" </dev/null
        done 2>/dev/null | awk '/\(0x[0-9a-f]+\)$/ && !/\/libcudart\.so/ && match($0, /\/[^ ]+/) {
            print substr($0, RSTART, RLENGTH) }' | sort -u)
    sum=$({ pwd && stat -L -c '%n %s %Y' "${files[@]}"; } | cksum)
    export CHECK_SEEN=$PWD/build/seen.${sum% *}
    [ ! -d "$CHECK_SEEN" ] || return 0
    mkdir "$new" && cp -L --parents -t "$new" "${files[@]}" &&
        # Where a part of the workbook itself is shown.
        { [ ! -d "$new/${top%%/*}" ] || mkdir -p "$new$PWD"; } &&
        { mv -T "$new" "$CHECK_SEEN" || [ -d "$CHECK_SEEN" ]; } 2>/dev/null
    rm -rf "$new"
}

canary() { # canary FOLDER HOW [NUMBER]: in that sandbox, as the user with that number
    export CHECK_SANDBOX=$2
    [ -z "${3:-}" ] || export CHECK_USER=$3
    rm -rf "$1/canary" && mkdir -p "$1/canary/run" &&
        CHECK_INSPECT="14_peer_access _exit execl fork wait waitpid" bash tests/grading/program.sh \
            "$1/canary.c" "$1/canary/program" >"$1/canary/compiler" &&
        copy_seen "$1/canary/program" &&
        bash tests/grading/run.sh "$1/canary/run" LD_LIBRARY_PATH="$PWD/build/simulator" -- \
            "$PWD/$1/canary/program" &&
        [ "$(<"$1/canary/run/status")" = 0 ]
}

words_of_canary() { # words_of_canary FOLDER
    head -qn 10 "$1/canary/compiler" "$1/canary/run/stderr" 2>/dev/null
    [ ! -s "$1/canary/run/ended" ] ||
        echo "It was stopped for its $(<"$1/canary/run/ended"). Is this machine emulated, or very" \
            "slow?"
}

# As root a program of a student runs as a user who is no person. Each way is tried twice: what goes
# wrong once, on a busy machine, must not cost a grading its sandbox.
choose_sandbox() { # choose_sandbox FOLDER
    local how ways=() number=
    [ "$(id -u)" != 0 ] || number=$((61200 + BASHPID % 800))
    if type -P bwrap >/dev/null; then
        if [ -n "$number" ]; then ways=(number root number root); else ways=(user user); fi
    fi
    for how in "${ways[@]}" ''; do
        if canary "$1" "$how" "$number"; then
            unset CHECK_USER
            PROTECT_USER=$number
            return
        fi
    done
    unset CHECK_USER
    [ -n "$number" ] && canary "$1" ''
}

choose_memory_limit() {
    local group folder
    group=$(sed -nE 's/^([0-9]+:memory|0:):(.*)/\2/p' /proc/self/cgroup | head -n 1)
    for folder in "/sys/fs/cgroup/memory$group" /sys/fs/cgroup/memory "/sys/fs/cgroup$group" \
        /sys/fs/cgroup; do
        if own_cgroup "$folder"; then
            PROTECT_CGROUP=$folder
            rmdir "$CHECK_CGROUP"
            unset CHECK_CGROUP
            return
        fi
    done
    # A person's own systemd makes one for each run.
    if [ "$(id -u)" != 0 ] && systemd-run --user --scope --quiet -p MemoryMax=$memory true \
        >/dev/null 2>&1; then
        CHECK_SCOPE=$memory
    fi
}

# shellcheck disable=SC2034  # sandbox, not_promised and not_protected are for the caller
protect() { # protect FOLDER
    sandbox=bubblewrap not_promised=() not_protected=
    : "${CHECK_COMPILER:=$(make -s grader | sed -n 's/^compiler //p')}"
    CHECK_HEADERS=$(realpath build/cuda/include)
    export CHECK_COMPILER CHECK_HEADERS CHECK_LIMITS=1 CHECK_ALONE=$PWD/build/check/alone
    export PROTECT_USER='' PROTECT_CGROUP='' CHECK_SCOPE=''
    cat >"$1/canary.c" <<'PROGRAM'
#define _GNU_SOURCE
#include "workbook.h"
#include <unistd.h>
int main(void)
{
    void *memory;
    CHECK(cudaMallocAsync(&memory, 1 << 20, 0));
    CHECK(cudaFreeAsync(memory, 0));
    CHECK(cudaDeviceSynchronize());
    pid_t second = fork();
    if (second == 0)
        _exit(0);
    return second < 0;
}
PROGRAM
    choose_sandbox "$1" || not_protected=$(words_of_canary "$1")
    # A machine that is emulated by qemu-user has no filters of system calls.
    if [[ $not_protected == *SIM_SEAL*seccomp* ]]; then
        CHECK_SEAL='' not_protected=''
        choose_sandbox "$1" || not_protected=$(words_of_canary "$1")
    fi
    choose_memory_limit
    if [ -z "$CHECK_SANDBOX" ]; then
        sandbox=none
        not_promised=("hidden files" "a closed network" "a private /tmp"
            "an end of all that a program starts")
        [ -n "$PROTECT_USER" ] || not_promised+=("a limit of processes")
    fi
    [ -n "${CHECK_SEAL:-}" ] || not_promised+=("journals that no program can forge")
    [ -n "$PROTECT_CGROUP$CHECK_SCOPE" ] || not_promised+=("a limit of memory")
}

protected() {
    declare -p sandbox not_promised not_protected "${!CHECK_@}" "${!PROTECT_@}"
}
