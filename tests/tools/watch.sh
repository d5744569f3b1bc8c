#!/usr/bin/env bash
# Watches lessons/: checks the lesson that was saved, says what is missing, and names the next one
# when it passes. It begins with the first lesson that does not pass. Ctrl-C ends it; it ends by
# itself when every lesson passes.
#
# It writes plain lines, so that any terminal will do. Where inotifywait is installed it wakes at
# once, else it looks each second.
set -u
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS LESSON
mapfile -t lessons < <(make -s list)
declare -A passes=()

# Ends what it waits with, and waits for its end: nothing of it is left. A signal may come before a
# variable could name that child; jobs knows it.
stop() {
    trap '' INT TERM HUP
    # shellcheck disable=SC2046  # one word for each process
    kill $(jobs -p) 2>/dev/null
    wait
    printf '\nStopped. make watch goes on where you are.\n'
    exit 0
}
trap stop INT TERM HUP

# The state of every file that a check reads: size, time and identity. A file that is being replaced
# may be away for a moment.
state() { stat -c '%n %s %.Y %i' lessons/*.c lessons/*.h 2>/dev/null; }

# A child in the background and wait: so that a signal is answered at once.
pause() { "$@" >/dev/null 2>&1 & wait; }
wait_for_change() {
    while [ "$(state)" = "$1" ]; do
        [ -d "$PWD/lessons" ] || { echo "lessons/ is gone: nothing is left to watch." >&2; exit 1; }
        if type -P inotifywait >/dev/null; then
            pause inotifywait -qq -t 2 -e close_write,moved_to,create,delete lessons
        else
            pause sleep 1
        fi
    done
    local now=
    until [ "$now" = "$(state)" ]; do   # an editor may write in several steps
        now=$(state)
        pause sleep 0.2
    done
}

# Checks a lesson up to its first miss; what it says is in $said.
check() {
    said=$(LESSON=lessons/$1.c CHECK_FIRST_MISS=1 bats --tap "tests/lessons/$1.bats" \
        2>&1 </dev/null | awk -v lesson="$1" -f tests/tools/report.awk)
    case $? in 0) passes[$1]=1 ;; *) unset "passes[$1]"; return 1 ;; esac
}

show() { # show NAME: what the last check of that lesson said
    printf '\n== %s\n' "$1"
    grep -vE '^  skip  |^[0-9]+ passed, |^$' <<<"$said"
}

# Goes on to the first lesson that does not pass, and says what it lacks.
go_on() {
    local name
    for name in "${lessons[@]}"; do
        [ -z "${passes[$name]:-}" ] || continue
        if check "$name"; then printf '%s passes.\n' "$name"; continue; fi
        show "$name"
        printf '\nNext: lessons/%s.c   its page: docs/%s.rst   run it: make %s\n' \
            "$name" "$name" "${name%%_*}"
        return
    done
    printf '\nEvery lesson passes.\n'
    exit 0
}

before=$(state)
go_on
waiting="Waiting for a file in lessons/ to be saved. Ctrl-C ends."
while echo "$waiting" && wait_for_change "$before"; do
    after=$(state)
    changed=$(diff <(echo "$before") <(echo "$after") |
        sed -n 's/^[<>] lessons\/\([^ ]*\) .*/\1/p' | sort -u)
    before=$after
    if grep -q '\.h$' <<<"$changed"; then   # what all lessons share
        passes=()
        go_on
        continue
    fi
    for name in "${lessons[@]}"; do
        [[ " ${changed//$'\n'/ } " == *" $name.c "* ]] || continue
        if check "$name"; then
            printf '\n%s passes.\n' "$name"
            go_on
        else
            show "$name"
        fi
    done
done
