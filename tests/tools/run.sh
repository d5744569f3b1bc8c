#!/usr/bin/env bash
# Runs one program of a student:
#     run.sh FOLDER [NAME=VALUE...] -- PROGRAM [ARGUMENT...]
#
# FOLDER is its working directory and receives stdout, stderr and status (the exit status; 128 + N
# after signal N); and why, in the file ended, when it was stopped: "time" after CHECK_SECONDS (5),
# "flood" when its files have more than CHECK_KILOBYTES (65536). The program gets no input, no
# descriptor but 0, 1 and 2, and the environment given here only. Its session ends with it. Links,
# pipes and sockets that it left in FOLDER are removed: who reads its files reads files.
#
# For a grader (tests/tools/protect.sh sets these):
#   CHECK_LIMITS=1      the seconds are those of a processor, and the program has four times as
#                       many in all; CHECK_PROCESSES (64) processes and threads, and no file of more
#                       than 1 GiB
#   CHECK_SANDBOX=HOW   tests/tools/sandbox.sh: all that it starts ends with it. It sees its
#                       libraries, itself, CHECK_LESSON and a folder of its own in the place of
#                       FOLDER. What it leaves there is removed, but for the journals, which come
#                       to FOLDER
#   CHECK_USER=N        for root: the program runs as the user with that number
#   CHECK_CGROUP=DIR    its memory is limited by that cgroup, whose CHECK_CGROUP_EVENTS counts what
#                       the kernel ended for it; or CHECK_SCOPE=BYTES by one that systemd makes.
#                       ended is then "memory"
#   CHECK_ALONE=FILE    a program that used little of its time slept, or the machine was busy. It
#                       runs again while no other run has this lock, and then the lesson's
#                       solution. If that is slow as well, ended is "machine", and CHECK_UNGRADED is
#                       the file that is to have a sentence about it
#   CHECK_SEAL=1        tests/tools/seal.sh: the program can do nothing that no lesson needs, =exec:
#                       but start itself again. ended is "journal" when a journal is not the one
#                       that the simulated device wrote
set -u
# shellcheck source=/dev/null
source "${0%/*}/seal.sh"
seconds=${CHECK_SECONDS:-5} kilobytes=${CHECK_KILOBYTES:-65536} root=$PWD
folder=$1
shift
given=()
while [ "$1" != -- ]; do
    given+=("$1")
    shift
done
shift

for descriptor in "/proc/$$/fd"/*; do
    descriptor=${descriptor##*/}
    # 255 is this script.
    [ "$descriptor" -le 2 ] || [ "$descriptor" = 255 ] || eval "exec $descriptor>&-"
done

cd "$folder" || exit 1
here=$PWD own=$PWD wall=$seconds limits=() queue='' sealed=()
lesson=${CHECK_LESSON:-none}
[[ $lesson == /* ]] || lesson=$root/$lesson
if [ -n "${CHECK_LIMITS:-}" ]; then
    wall=$((4 * seconds))
    limits=(prlimit --cpu="$seconds:$((seconds + 1))" --fsize=1073741824 --core=0)
    # They count for the user of a sandbox alone, and for a number that is no person's.
    [ -z "${CHECK_SANDBOX:-}${CHECK_USER:-}" ] || limits+=(--nproc="${CHECK_PROCESSES:-64}")
fi
[ -z "${CHECK_SANDBOX:-}" ] || own=$here/own

# Becomes the program.
begin() { # begin PROGRAM [ARGUMENT...]
    [ -z "$queue" ] || exec {queue}>&-
    [ -z "${CHECK_CGROUP:-}" ] || echo "$BASHPID" >"$CHECK_CGROUP/cgroup.procs"
    if [ -z "${CHECK_SANDBOX:-}" ]; then
        local user=()
        [ -z "${CHECK_USER:-}" ] ||
            user=(setpriv --reuid="$CHECK_USER" --regid="$CHECK_USER" --clear-groups --no-new-privs)
        exec setsid "${user[@]}" "${limits[@]}" env -i PATH=/usr/bin:/bin HOME="$here" LC_ALL=C \
            "${given[@]}" "${sealed[@]}" "$@"
    fi
    local pair environment=() scope=()
    [ -z "${CHECK_SCOPE:-}" ] ||
        scope=(systemd-run --user --scope --quiet --collect -p MemoryMax="$CHECK_SCOPE"
            -p MemorySwapMax=0 --)
    for pair in PATH=/usr/bin:/bin HOME="$here" LC_ALL=C "${given[@]}" "${sealed[@]}"; do
        environment+=(--setenv "${pair%%=*}" "${pair#*=}")
    done
    exec "${scope[@]}" "$root/tests/tools/sandbox.sh" run \
        --ro-bind "$1" "$1" --ro-bind-try "$lesson" "$lesson" \
        --ro-bind-try "$root/tests/simulator/traces" "$root/tests/simulator/traces" \
        --ro-bind-try "${here%/*}/tests" "${here%/*}/tests" --bind "$own" "$here" \
        --chdir "$here" --info-fd "$info" "${environment[@]}" -- "${limits[@]}" "$@"
}

# Sets first: the first process of the sandbox, the only child of bubblewrap. All end with it.
find_first() {
    first=
    [ -z "${CHECK_SANDBOX:-}" ] || read -r first <"/proc/$program/task/$program/children"
    first=${first%% *}
}

# Did the program, and what it started, use the processor for about as long as it may?
is_busy() {
    local process line word used=0
    for process in /proc/[0-9]*; do
        read -r line <"$process/stat" || continue
        read -ra word <<<"${line##*) }"   # from its state, the third field of proc(5)
        if [ -n "$first" ]; then
            [ "$process/ns/pid" -ef "/proc/$first/ns/pid" ] || continue
        else
            [ "${word[3]}" = "$program" ] || continue
        fi
        used=$((used + word[11] + word[12] + word[13] + word[14]))
    done 2>/dev/null
    [ "$used" -ge $((95 * seconds)) ]   # hundredths of a second
}

stop() {
    if [ -n "$first" ]; then kill -KILL "$first"
    else kill -KILL -- "-$program" || kill -KILL "$program"; fi
}

# Bubblewrap ends when it knows the status; this is when all in the sandbox has ended.
wait_for_end() {
    local first='' line
    while read -r -t 0.1 -u "$info" line; do
        [[ $line != *'"child-pid": '* ]] || first=${line##*: }
        [[ $line != *"}"* ]] || break
    done
    first=${first%,}
    # A dead one may stay in the list until somebody looks.
    while [ -n "$first" ] && read -r line 2>/dev/null <"/proc/$first/stat" &&
        [[ $line != *") "[ZX]* ]]; do
        read -r -t 0.01 -u "$info" _
    done
}

# The sizes of files count, not their blocks: a file with holes has few.
files=("$own")
[ "$own" = "$here" ] || files+=(stdout stderr)
too_many_bytes() {
    find "${files[@]}" -type f -printf '%s\n' |
        awk -v most="$kilobytes" '{ all += $1 } END { exit all <= 1024 * most }'
}
has_large_file() { [ -n "$(find "${files[@]}" -size +"$kilobytes"k -print -quit 2>/dev/null)" ]; }

# Sets killed: how often the kernel has stopped a process of the cgroup for its memory.
count_killed() {
    local key value
    killed=0
    [ -z "${CHECK_CGROUP:-}" ] || while read -r key value; do
        [ "$key" != oom_kill ] || killed=$value
    done <"$CHECK_CGROUP_EVENTS"
}

# Sets status, and ended to nothing, or flood, memory, time, or asleep: it used little of its time.
attempt() { # attempt PROGRAM [ARGUMENT...]
    local program watcher before=0 used info
    ended='' status=0
    exec {info}<> <(:)
    if [ -n "${CHECK_SANDBOX:-}" ]; then
        install -d ${CHECK_USER:+-o "$CHECK_USER" -g "$CHECK_USER"} own
    elif [ -n "${CHECK_USER:-}" ]; then
        chmod 1777 .
    fi
    if [ -n "${CHECK_SEAL:-}" ]; then
        seal_run "$here.receipts"
        sealed=(SIM_SEAL="$seal")
        [ "$CHECK_SEAL" != exec ] || sealed[0]+=:exec
    fi
    count_killed
    before=$killed
    begin "$@" </dev/null >stdout 2>stderr &
    program=$!
    (
        end=$((SECONDS + wall + 1)) why=124
        exec {never}<> <(:)   # nothing is ever to be read from it: a wait without a process
        while ! read -r -t 0.1 -u "$never" && kill -0 "$program"; do
            if too_many_bytes; then why=125
            elif [ "$SECONDS" -lt "$end" ]; then continue; fi
            find_first
            if [ "$why" = 124 ] && [ -n "${CHECK_LIMITS:-}" ] && ! is_busy; then why=123; fi
            trap '' TERM   # who waits for the program does not end this before it says why
            stop
            exit "$why"
        done
    ) >/dev/null 2>&1 </dev/null &
    watcher=$!
    wait "$program" 2>/dev/null || status=$?
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    case $? in
    123) ended=asleep ;;
    124) ended="time" ;;
    125) ended=flood ;;
    esac
    kill -KILL -- "-$program" 2>/dev/null
    [ -z "${CHECK_SANDBOX:-}" ] || wait_for_end
    exec {info}>&-
    count_killed
    if [ "$killed" != "$before" ]; then ended=memory
    elif [ "$status" = 153 ] || has_large_file; then ended=flood   # SIGXFSZ
    elif [ "$status" = 152 ]; then ended="time"   # SIGXCPU
    elif [ -n "${CHECK_SCOPE:-}" ] && [ "$status" = 137 ] && [ -z "$ended" ]; then ended=memory
    fi
}

clear() {
    chmod -R u+rwX "${files[0]}" 2>/dev/null
    find "$own" -mindepth 1 -delete
}

# Is the lesson's solution slow too?
machine_is_slow() { # machine_is_slow [ARGUMENT...]
    local solution=solutions/$CHECK_NAME.c start=${EPOCHREALTIME/./}
    [ -e "$root/$solution" ] || solution=lessons/$CHECK_NAME.c
    mkdir -p canary/run &&
        make -s -C "$root" program LESSON="$solution" PROGRAM="$here/canary/program" \
            BACKEND= >/dev/null 2>&1 &&
        (cd "$root" && CHECK_ALONE='' "$BASH" tests/tools/run.sh "$here/canary/run" \
            "${given[@]//"$here"/"$here/canary/run"}" -- "$here/canary/program" "$@")
    rm -rf canary
    [ $((${EPOCHREALTIME/./} - start)) -ge $((wall * 250000)) ]
}

attempt "$@"
if [ "$ended" = asleep ] && [ -z "${CHECK_ALONE:-}" ]; then ended="time"; fi
if [ "$ended" = asleep ]; then
    exec {queue}>>"$CHECK_ALONE"
    flock "$queue"
    clear
    attempt "$@"
    if [ "$ended" = asleep ]; then
        ended="time"
        if machine_is_slow "${@:2}"; then
            ended=machine
            echo "A run of its program did not end, and this machine was so busy that the \
solution was slow too." >"$CHECK_UNGRADED"
        fi
    fi
fi

# Who reads the results reads files, and journals that hold.
if [ "$own" != "$here" ]; then
    shopt -s nullglob
    for file in own/journal.jsonl*; do
        if [ ! -L "$file" ] && [ -f "$file" ]; then
            [ -r "$file" ] || chmod 600 "$file"
            mv "$file" .
        fi
    done
    rm -rf own 2>/dev/null || { chmod -R u+rwX own; rm -rf own; }
fi
if [ -n "${sealed[*]}" ] && [ -z "$ended" ] && [ "$status" -lt 128 ] && ! seal_holds; then
    ended=journal
fi
if [ "$own" = "$here" ]; then
    # A folder with plain files alone, which most runs leave, needs no search.
    shopt -s dotglob
    for file in *; do
        if [ -L "$file" ] || [ ! -f "$file" ]; then
            find . ! -type f ! -type d -delete 2>/dev/null
            break
        fi
    done
    # A later run of the same user cannot change what this one left.
    [ -z "${CHECK_USER:-}" ] || chmod 700 .
    rm -rf status ended
fi
echo "$status" >status
[ -z "$ended" ] || echo "$ended" >ended
exit 0
