#!/usr/bin/env bash
# Runs one program that is not trusted to behave:
#     run.sh FOLDER [NAME=VALUE...] -- PROGRAM [ARGUMENT...]
#
# FOLDER is its working directory and receives stdout, stderr and status (the exit status; 128 + N
# after signal N); and why, in the file ended, when it was stopped: "time" after CHECK_SECONDS (5),
# "flood" when FOLDER holds more than CHECK_KILOBYTES (65536). The program gets no input, no
# descriptor but 0, 1 and 2, and the environment given here only. It leads a session of its own, and
# every process that carries the run's mark in its environment is killed at the end: nothing
# outlives the run. Links, pipes and sockets that it left in FOLDER are removed: who reads its files
# reads files.
#
# For a grader: CHECK_PROCESSES=N limits how many processes and threads the program's user may have.
# CHECK_USER=N, for root, runs the program as the user with that number, which is no person's: it
# can write in FOLDER and in no file of others, cannot replace stdout, stderr, status and ended, and
# at the end all that runs as that user is killed.
set -u
seconds=${CHECK_SECONDS:-5} kilobytes=${CHECK_KILOBYTES:-65536}
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

# The processes of CHECK_USER that live, but those in the state $1.
of_user() {
    cat /proc/[0-9]*/status 2>/dev/null | awk -v uid="$CHECK_USER" -v but="$1" \
        '$1 == "State:" { state = $2 }
        $1 == "Pid:" { pid = $2 }
        $1 == "Uid:" && $2 == uid && state !~ /^[ZX]$/ && state != but { print pid }'
}

cd "$folder" || exit 1
mark=CHECK_MARK=$$.$RANDOM.$folder
limits=()
[ -z "${CHECK_PROCESSES:-}" ] || limits=(prlimit --nproc="$CHECK_PROCESSES" --core=0)
user=()
if [ -n "${CHECK_USER:-}" ]; then
    [[ $CHECK_USER =~ ^61[2-9][0-9][0-9]$ ]] || {
        echo "CHECK_USER is $CHECK_USER;" \
            "expected a number from 61200 to 61999, which belongs to no person." >&2
        exit 1
    }
    user=(setpriv --reuid="$CHECK_USER" --regid="$CHECK_USER" --clear-groups --no-new-privs)
    chmod 1777 .
    : >ended
fi
: >status
setsid "${limits[@]}" "${user[@]}" env -i PATH=/usr/bin:/bin HOME="$PWD" LC_ALL=C "$mark" \
    "${given[@]}" "$@" </dev/null >stdout 2>stderr &
program=$!

(
    end=$((SECONDS + seconds + 1))
    exec {never}<> <(:)   # nothing is ever to be read from it: a wait without a process
    while ! read -r -t 0.1 -u "$never" && kill -0 "$program" 2>/dev/null; do
        size=$(du -sk . 2>/dev/null)
        if [ "${size%%[[:space:]]*}" -gt "$kilobytes" ]; then echo flood >ended
        elif [ "$SECONDS" -ge "$end" ]; then echo time >ended
        else continue; fi
        kill -KILL -- "-$program"
        break
    done
) >/dev/null 2>&1 </dev/null &
watcher=$!

status=0
wait "$program" 2>/dev/null || status=$?
echo "$status" >status
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
kill -KILL -- "-$program" 2>/dev/null
# All that runs as the program's own user is stopped first, so that it forks no more, and then
# killed. The dying take a moment.
if [ -n "${CHECK_USER:-}" ]; then
    for ((i = 0; i < 50; i++)); do
        stray=$(of_user T)
        [ -n "$stray" ] || break
        # shellcheck disable=SC2086  # one word for each process
        kill -STOP $stray 2>/dev/null
    done
    for ((i = 0; i < 50; i++)); do
        stray=$(of_user '')
        [ -n "$stray" ] || break
        # shellcheck disable=SC2086
        kill -KILL $stray 2>/dev/null
        sleep 0.05
    done
fi
# One look is not enough: a process that forks while /proc is read can hide its child. Two looks in
# a row must find nothing.
for ((i = 0, clean = 0; i < 50 && clean < 2; i++)); do
    mapfile -t stray < <(grep -lszF "$mark" /proc/[0-9]*/environ)
    stray=("${stray[@]#/proc/}")
    if [ "${#stray[@]}" != 0 ]; then
        clean=0
        kill -KILL "${stray[@]%/environ}" 2>/dev/null
    else
        clean=$((clean + 1))
    fi
done
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
exit 0
