#!/usr/bin/env bash
# Runs one program of a student:
#     run.sh FOLDER [NAME=VALUE...] -- PROGRAM [ARGUMENT...]
#
# FOLDER is its working directory and receives stdout, stderr and status (the exit status; 128 + N
# after signal N); and why, in the file ended, when it was stopped: "time" after CHECK_SECONDS (5)
# of a processor, or when it has slept for so long, "flood" when its files have more than
# CHECK_KILOBYTES (65536), or a journal more than CHECK_JOURNAL_KILOBYTES (16384; the largest of a
# solution has a third of that). A file that is longer is cut off there. The program gets no input,
# no descriptor but 0, 1 and 2, and the environment given here only. Its session ends with it.
# Links, pipes and sockets that it left in FOLDER are removed: who reads its files reads files. Exit
# status: 0, or 75 with a sentence when the disk was too full to tell what the program did.
#
# For a grader (tests/grading/protect.sh sets these):
#   CHECK_LIMITS=1      the program has four times as many seconds in all; CHECK_PROCESSES (64)
#                       processes and threads, and no file of more than 1 GiB
#   CHECK_SANDBOX=HOW   tests/grading/sandbox.sh: all that it starts ends with it. It sees its
#                       libraries, itself, CHECK_LESSON and an empty folder in the place of FOLDER:
#                       the folder own beside FOLDER, which one run after the other has. What it
#                       leaves there is removed, but for the journals, which come to FOLDER.
#                       ended is "machine" when the sandbox could not be made
#   CHECK_USER=N        for root: the program runs as the user with that number
#   CHECK_CGROUP=DIR    its memory is limited by that cgroup, whose CHECK_CGROUP_EVENTS counts what
#                       the kernel ended for it; or CHECK_SCOPE=BYTES by one that systemd makes.
#                       ended is then "memory"
#   CHECK_ALONE=FILE    a program that used little of its time slept, or the machine was busy. It
#                       runs again while no other run has this lock, and then the lesson's
#                       solution. If that is slow as well, ended is "machine"
#   CHECK_UNGRADED=FILE gets a sentence when ended is "machine"
#   CHECK_SEAL=1        seal.sh beside this: the program can do nothing that no lesson needs, =exec:
#                       but start itself again. ended is "journal" when a journal is not the one
#                       that the simulated device wrote
set -u
# shellcheck source=tests/grading/seal.sh
source "${0%/*}/seal.sh"
# shellcheck source=tests/grading/sandbox.sh
source "${0%/*}/sandbox.sh"
seconds=${CHECK_SECONDS:-5} kilobytes=${CHECK_KILOBYTES:-65536} root=$PWD
journal_kilobytes=${CHECK_JOURNAL_KILOBYTES:-16384}
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
shopt -s nullglob dotglob
here=$PWD place=$PWD wall=$seconds longest=$((120 * seconds)) queue='' sealed=() worked=0
processes=()
lesson=${CHECK_LESSON:-none}
[[ $lesson == /* ]] || lesson=$root/$lesson
if [ -n "${CHECK_LIMITS:-}" ]; then
    wall=$((4 * seconds)) longest=$((4 * seconds + 5))
    # It counts for the user of a sandbox alone, and for a number that is no person's. So who has
    # become that user sets it.
    [ -z "${CHECK_SANDBOX:-}${CHECK_USER:-}" ] ||
        processes=(prlimit --nproc="${CHECK_PROCESSES:-64}")
fi
[ -z "${CHECK_SANDBOX:-}" ] || place=${here%/*}/own

# Runs the program. What holds its stdout open, the pipe that attempt reads, ends with the run. It
# prints the number of the program's process, or what bubblewrap does: the number of the first
# process of the sandbox, and, when the program has begun and ended there, an exit code.
begin() { # begin PROGRAM [ARGUMENT...]
    local pair box pipe info environment=() user=() library=$root/build/simulator/libcudart.so.13
    [ -z "$queue" ] || exec {queue}>&-
    [ -z "${CHECK_CGROUP:-}" ] || echo "$BASHPID" >"$CHECK_CGROUP/cgroup.procs"
    ulimit -c 0
    ulimit -S -t "$seconds"
    ulimit -H -t $((seconds + 1))
    [ -z "${CHECK_LIMITS:-}" ] || ulimit -f 1048576
    if [ -z "${CHECK_SANDBOX:-}" ]; then
        [ -z "${CHECK_USER:-}" ] ||
            user=(setpriv --reuid="$CHECK_USER" --regid="$CHECK_USER" --clear-groups
                --no-new-privs)
        # The limit ends it when this script was ended before.
        setsid timeout --signal=KILL "$longest" "${user[@]}" "${processes[@]}" \
            env -i PATH=/usr/bin:/bin HOME="$here" LC_ALL=C "${given[@]}" "${sealed[@]}" \
            "$@" >stdout 2>stderr &
        echo $!
        wait $! 2>/dev/null
        exit
    fi
    for pair in PATH=/usr/bin:/bin HOME="$here" LC_ALL=C "${given[@]}" "${sealed[@]}"; do
        environment+=(--setenv "${pair%%=*}" "${pair#*=}")
    done
    exec {pipe}>&1 {info}>&1 >stdout 2>stderr
    sandbox run --sync-fd "$pipe" --json-status-fd "$info" \
        --ro-bind "$library" "$library" --ro-bind "$1" "$1" --ro-bind-try "$lesson" "$lesson" \
        --ro-bind-try "$root/lessons/traces" "$root/lessons/traces" \
        --ro-bind-try "${here%/*}/tests" "${here%/*}/tests" --bind "$place" "$here" \
        --chdir "$here" "${environment[@]}" -- "${processes[@]}" "$@"
    [ -n "${CHECK_SCOPE:-}" ] || exec -c "${box[@]}"
    exec systemd-run --user --scope --quiet --collect -p MemoryMax="$CHECK_SCOPE" \
        -p MemorySwapMax=0 -- env -i "${box[@]}"
}

# Did the program, and what it started, use the processor for about as long as it may?
is_busy() {
    local process line word used=0
    for process in /proc/[0-9]*; do
        read -r line <"$process/stat" || continue
        read -ra word <<<"${line##*) }"   # from its state, the third field of proc(5)
        if [ -n "${CHECK_SANDBOX:-}" ]; then
            [ "$process/ns/pid" -ef "/proc/$first/ns/pid" ] || continue
        else
            [ "${word[3]}" = "$first" ] || continue   # its session
        fi
        used=$((used + word[11] + word[12] + word[13] + word[14]))
    done 2>/dev/null
    [ "$used" -ge $((95 * seconds)) ]   # hundredths of a second
}

# Does the program want a processor now, or has it, since the last look two seconds ago, computed or
# waited for one for more than a tenth of the time? A busy machine makes a program wait. One that
# sleeps goes on sleeping.
is_at_work() {
    local task line ran waited word last=$worked
    worked=0
    for task in /proc/[0-9]*/task/[0-9]*; do
        read -r line <"$task/stat" || continue
        read -r ran waited _ <"$task/schedstat" || continue
        read -ra word <<<"${line##*) }"   # from its state, the third field of proc(5)
        [ "${word[3]}" = "$first" ] || continue
        [[ ${word[0]} != [RD] ]] || return 0
        worked=$((worked + ran + waited))
    done 2>/dev/null
    [ $((worked - last)) -gt 200000000 ]
}

stop() {
    if [ -n "${CHECK_SANDBOX:-}" ]; then kill -KILL ${first:+"$first"} "$program"
    else kill -KILL -- "-$first"; fi 2>/dev/null
}

# When the first process of a sandbox is dead, all in it are. It closes its files before.
wait_for_sandbox() {
    local line looks=0
    while [ -n "$first" ] && read -r line 2>/dev/null <"/proc/$first/stat" &&
        [[ $line != *") "[ZX]* ]]; do
        # Most are dead at one of the first looks, which take less time than to begin sleep.
        ((++looks < 20)) || sleep 0.01
    done
}

# The sizes of files count, not their blocks: a file with holes has few.
files=("$place")
[ "$place" = "$here" ] || files+=(stdout stderr)
is_flooded() { # by all files, by one, or by one journal, which lies in the folder itself
    local size found all=0
    while read -r size found; do
        case $found in file | 1) return 0 ;; esac
        all=$((all + size))
    done < <(find "${files[@]}" -type f -printf '%s ' \( -size +"$kilobytes"k -printf 'file' \
        -o -name 'journal.jsonl*' -size +"$journal_kilobytes"k -printf '%d' -o -true \) \
        -printf '\n' 2>/dev/null)
    [ "$all" -gt $((1024 * kilobytes)) ]
}

# Sets sums to what cksum says about the files of a run in a sandbox, which limits them, where all
# are plain: their sizes, and what a seal asks for. Else there are none.
sum_up() {
    local file plain=(stdout stderr)
    sums=()
    [ "$place" != "$here" ] && [ -n "${sealed[*]}" ] || return 0
    for file in "$place"/*; do
        if [[ $file != "$place"/journal.jsonl* ]] || [ -L "$file" ] || [ ! -f "$file" ] ||
            [ ! -r "$file" ]; then return 0; fi
        plain+=("$file")
    done
    mapfile -t sums < <(cksum -- "${plain[@]}")
    sums=("${sums[@]/"$place/"/}")
}
was_flooded() {
    local line most
    [ "${#sums[@]}" != 0 ] || { is_flooded; return; }
    for line in "${sums[@]#* }"; do   # bytes and name
        most=$kilobytes
        [[ $line != *" journal.jsonl"* ]] || most=$journal_kilobytes
        [ "${line%% *}" -le $((1024 * most)) ] || return 0
    done
    return 1
}

# cut_off KILOBYTES [WHICH...]: cuts the files that find finds so to a byte more than that
cut_off() {
    find . "${@:2}" -type f -size +"$1"k -exec truncate -s $((1024 * $1 + 1)) {} + 2>/dev/null
}

# Sets killed: how often the kernel has stopped a process of the cgroup for its memory.
count_killed() {
    local key value
    killed=0
    [ -z "${CHECK_CGROUP:-}" ] || while read -r key value; do
        [ "$key" != oom_kill ] || killed=$value
    done <"$CHECK_CGROUP_EVENTS"
}

# The program's folder, and the seal of this run.
prepare_place() {
    if [ "$place" != "$here" ]; then
        # A run before this one may have shut it for its own user. To root nothing looks shut, and
        # a sandbox that root makes has given up the right to enter it.
        if [ -d "$place" ]; then
            if [ "$CHECK_SANDBOX" = root ] || [ ! -x "$place" ] || [ ! -w "$place" ]; then
                chmod 755 "$place"
            fi
        else install -d ${CHECK_USER:+-o "$CHECK_USER" -g "$CHECK_USER"} "$place"; fi
    elif [ -n "${CHECK_USER:-}" ]; then
        chmod 1777 .
    fi
    if [ -n "${CHECK_SEAL:-}" ]; then
        seal_run "$here.receipts"
        sealed=(SIM_SEAL="$seal")
        [ "$CHECK_SEAL" != exec ] || sealed[0]+=:exec
    fi
}

# Sets status, and ended to nothing, or flood, memory, time, or asleep: it used little of its time.
attempt() { # attempt PROGRAM [ARGUMENT...]
    local program first='' sandboxed='' before end got pipe line part=''
    ended='' status=0
    prepare_place
    count_killed
    before=$killed end=$((SECONDS + wall + 1))
    exec {pipe}< <(begin "$@" </dev/null)
    program=$!
    while true; do
        got=0
        read -r -t 0.2 line <&"$pipe" || got=$?
        # A read whose time is up has taken what there was of a line.
        part+=$line
        case $got in
        0)
            line=$part part=
            case $line in
            *'"child-pid": '*) first=${line#*'"child-pid": '} first=${first%%[!0-9]*} ;;
            *'"exit-code": '*) sandboxed=1 ;;
            [0-9]*) first=$line ;;
            esac ;;
        1) break ;;   # its end: what held it has ended
        *)
            if is_flooded; then ended=flood
            elif [ "$SECONDS" -lt "$end" ]; then continue
            elif [ -z "${CHECK_LIMITS:-}" ] && ! is_busy && is_at_work; then
                end=$((SECONDS + 2))
                continue
            elif [ -n "${CHECK_LIMITS:-}" ] && ! is_busy; then ended=asleep
            else ended="time"; fi
            stop
            break ;;
        esac
    done
    wait "$program" 2>/dev/null || status=$?
    if [ -z "${CHECK_SANDBOX:-}" ]; then
        # It had ended by itself when it should have been stopped.
        if [ "$ended" = "time" ] && [ "$status" -lt 124 ]; then ended=''; fi
        stop
    else
        wait_for_sandbox
        [ -n "$ended$sandboxed" ] || ended=machine
    fi
    exec {pipe}<&-
    count_killed
    sum_up
    if [ "$killed" != "$before" ]; then ended=memory
    elif [ "$status" = 153 ] || was_flooded; then ended=flood   # SIGXFSZ
    elif [ "$status" = 152 ]; then ended="time"   # SIGXCPU
    elif [ -n "${CHECK_SCOPE:-}" ] && [ "$status" = 137 ] && [ -z "$ended" ]; then ended=memory
    fi
}

clear() {
    chmod -R u+rwX "${files[0]}" 2>/dev/null
    find "$place" -mindepth 1 -delete
}

# Is the lesson's solution slow too?
machine_is_slow() { # machine_is_slow [ARGUMENT...]
    local solution=solutions/$CHECK_NAME.c start=${EPOCHREALTIME/./}
    [ -e "$root/$solution" ] || solution=lessons/$CHECK_NAME.c
    mkdir -p canary/run &&
        make -s -C "$root" program LESSON="$solution" PROGRAM="$here/canary/program" \
            BACKEND= >/dev/null 2>&1 &&
        (cd "$root" && CHECK_ALONE='' "$BASH" tests/grading/run.sh "$here/canary/run" \
            "${given[@]//"$here"/"$here/canary/run"}" -- "$here/canary/program" "$@")
    rm -rf canary
    [ $((${EPOCHREALTIME/./} - start)) -ge $((wall * 250000)) ]
}

ungraded() { [ -z "${CHECK_UNGRADED:-}" ] || echo "$1" >"$CHECK_UNGRADED"; }

attempt "$@"
if [ "$ended" = machine ]; then
    clear
    attempt "$@"
fi
if [ "$ended" = machine ]; then ungraded "$(sandbox_failed "$(head -n 1 stderr)")"; fi
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
            ungraded "A run of its program did not end, and this machine was so busy that the \
solution was slow too."
        fi
    fi
fi

# Who reads the results reads files, and journals that hold.
if [ "$place" != "$here" ]; then
    journals=()
    for file in "$place"/journal.jsonl*; do
        if [ ! -L "$file" ] && [ -f "$file" ]; then
            [ -r "$file" ] || chmod 600 "$file"
            journals+=("$file")
        fi
    done
    [ "${#journals[@]}" = 0 ] || mv -- "${journals[@]}" .
    left=("$place"/*)
    [ "${#left[@]}" = 0 ] || clear
fi
if [ -n "${sealed[*]}" ] && [ -z "$ended" ] && [ "$status" -lt 128 ] &&
    ! seal_holds "${given[@]}"; then
    ended=journal
fi
if [ "$place" = "$here" ]; then
    # A folder with plain files alone, which most runs leave, needs no search.
    for file in *; do
        if [ -L "$file" ] || [ ! -f "$file" ]; then
            find . ! -type f ! -type d -delete 2>/dev/null
            break
        fi
    done
    # A later run of the same user cannot change what this one left.
    [ -z "${CHECK_USER:-}" ] || chmod 700 .
    for file in status ended; do [ ! -e "$file" ] || rm -rf "$file"; done
fi
# By the time that it is seen it may be a hundred times as long. No reader needs the rest.
if [ "$ended" = flood ]; then
    cut_off "$kilobytes"
    cut_off "$journal_kilobytes" -maxdepth 1 -name 'journal.jsonl*'
fi
# A disk that is full has cut off what the program wrote, or what is written here: that is no fault
# of the program's. In a grading the disk is looked at after each run, for a neighbor may fill it.
full=
if [ -n "${CHECK_UNGRADED:-}" ] && ! { printf '%1048576s' '' >status; } 2>/dev/null; then
    full="The disk is full: nothing more can be written to $here. Make room there."
fi
if [ -n "$full" ] || ! { echo "$status" >status && [ -s status ]; } 2>/dev/null ||
    { [ -n "$ended" ] && ! { echo "$ended" >ended && [ -s ended ]; } 2>/dev/null; }; then
    full=${full:-The disk is full: what the program left could not be stored.}
    # Room for the sentence: what was cut off tells nothing.
    [ -z "${CHECK_UNGRADED:-}" ] || find . -type f -delete
    { ungraded "$full"; } 2>/dev/null
    echo "$full"
    exit 75
fi
exit 0
