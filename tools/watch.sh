#!/usr/bin/env bash
# Watches lessons/: checks the lesson that was saved, prints its first miss, and names the next one
# when it passes. It begins with the first lesson that does not pass. Ctrl-C ends it; it ends by
# itself when every lesson passes.
#
# At a terminal keys work, too: h one more hint, n the next lesson, p the page, q the end. It writes
# plain lines, so that any terminal will do, and looks each second.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '' "$@"
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS LESSON FILE
mapfile -t lessons < <(make -s list)
declare -A passes=()
current=    # the lesson at work
waiting="Waiting for a file in lessons/ to be saved."
keys=
if [ -t 0 ]; then
    keys=1
    waiting+=" Keys: h hint, n next lesson, p its page, q quit."
else
    waiting+=" Ctrl-C ends."
fi

# Ends the background child, and waits until it has ended. It finds the child by jobs, because a
# signal may arrive before a variable has the child's number.
stop() {
    trap '' INT TERM HUP
    # shellcheck disable=SC2046  # one word for each process
    kill $(jobs -p) 2>/dev/null
    wait
    printf '\nStopped. make watch continues at the first lesson that does not pass.\n'
    exit 0
}
trap stop INT TERM HUP

# The state of every file that a check reads: size, time and identity. A file that is being replaced
# may be away for a moment.
state() { stat -c '%n %s %.Y %i' lessons/*.c lessons/*.h 2>/dev/null; }

# Waits for a background child, so that a signal is handled at once.
pause() { "$@" >/dev/null 2>&1 & wait; }
wait_for_change() {
    while [ "$(state)" = "$1" ]; do
        [ -d "$PWD/lessons" ] || { echo "The folder lessons/ no longer exists." >&2; exit 1; }
        if [ -n "$keys" ]; then
            ! await_key || act
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

# Waits a second for a key, and stores it in $key. A closed terminal sends no more.
await_key() {
    local status=0
    IFS= read -rsn 1 -t 1 key || status=$?
    if [ "$status" != 0 ]; then
        [ "$status" -gt 128 ] || keys=
        return 1
    fi
}

act() {
    case $key in
    h) bash tools/hint.sh "$current" ;;
    n) go_on "$current" ;;
    p) bash tools/open.sh "$current" ;;
    q) stop ;;
    *) ;;
    esac
    echo "$waiting"
}

# Checks a lesson up to its first miss, and stores the report in $said.
check() {
    unset "passes[$1]"
    said=$(CHECK_FORM=brief bash tools/check.sh "$1" 2>&1) && passes[$1]=1
}

show() { # show NAME: the report of the last check of that lesson
    printf '\n== %s\n%s\n' "$1" "$said"
}

passed() { printf '%s passes. (%d of %d)\n' "$1" "${#passes[@]}" "${#lessons[@]}"; }

next() { # next NAME: that lesson is at work now
    local page=docs/$1.rst built
    current=$1
    for built in {book,build/docs/html}/"$1.html"; do [ ! -e "$built" ] || page=$built; done
    printf '\nNext: lessons/%s.c   page: %s   run: make %s   (%d of %d pass)\n' \
        "$1" "$page" "${1%%_*}" "${#passes[@]}" "${#lessons[@]}"
}

# Goes on to the first lesson that does not pass, and shows its first miss; go_on NAME: to the first
# one after that lesson, and from the beginning again.
go_on() {
    local name i order=("${lessons[@]}")
    for i in "${!lessons[@]}"; do
        [ "${lessons[i]}" != "${1:-}" ] || order=("${lessons[@]:i+1}" "${lessons[@]:0:i+1}")
    done
    for name in "${order[@]}"; do
        [ -z "${passes[$name]:-}" ] || continue
        if check "$name"; then passed "$name"; continue; fi
        show "$name"
        next "$name"
        return
    done
    printf '\nEvery lesson passes.\n'
    printf 'Next: the clinic, eleven broken programs that follow real bug reports. Begin with '
    printf 'make clinic-01.\nIts pages: docs/clinic, or "Clinic" in the book.\n'
    exit 0
}

before=$(state)
go_on
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
            printf '\n'
            passed "$name"
            go_on
        else
            show "$name"
            next "$name"
        fi
    done
done
