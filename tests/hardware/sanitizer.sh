#!/usr/bin/env bash
# Records what compute-sanitizer makes of correct programs: sanitizer.sh [FILE.md [TIMES]], by
# default build/sanitizer.md, each 5 times.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make. A run may take SECONDS_EACH (8) seconds.
# FILE.md receives the table. Exit status 0: every program came to its end without the sanitizer;
# what happens under it is what is recorded, whatever it is.
set -u
file=$(realpath -m "${1:-build/sanitizer.md}")
cd "$(dirname "$0")/../.." || exit 1
. tests/hardware/record.sh
times=${2:-5} each=${SECONDS_EACH:-8} wrong=0
folder=tests/hardware/sanitizer
[ -n "$SANITIZER" ] || { echo "compute-sanitizer was not found." >&2; exit 1; }

outcome() { # outcome COMMAND...: how it ended
    local status=0 printed
    printed=$(timeout -k 2 "$each" "$@" 2>&1 </dev/null) || status=$?
    if was_stopped "$status"; then
        echo "stopped after $each s"
    elif grep -q "didn't terminate successfully" <<<"$printed"; then
        echo "died"
    elif [ "$status" != 0 ]; then
        echo "status $status"
    elif grep -q 'ERROR SUMMARY' <<<"$printed"; then
        sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1 errors/p' <<<"$printed"
    else
        echo "ended"
    fi
}

# several COMMAND...: the outcomes of all its runs, which go on at the same time, counted
several() {
    local i
    {
        for ((i = 0; i < times; i++)); do
            outcome "$@" &
        done
        wait
    } | sort | uniq -c |
        awk '{ n = $1; $1 = ""; printf "%s%d times%s", (NR > 1 ? ", " : ""), n, $0 }'
}

row() { # row PROGRAM [ARGUMENT...]: one line of the table
    local program=build/gpu/$folder/$1 name=$1 alone leaks races
    shift
    alone=$(several "$program" "$@")
    [ "$alone" = "$times times ended" ] || wrong=1
    leaks=$(several "$SANITIZER" --leak-check full "$program" "$@")
    races=$(several "$SANITIZER" --track-stream-ordered-races all "$program" "$@")
    echo "| $name | $* | $alone | $leaks | $races |"
}

mkdir -p "$(dirname "$file")"
build gpu "$file.build" "$folder/hold" "$folder/pools" || exit 1
{
    echo "# Correct programs under compute-sanitizer"
    echo
    echo "Written by tests/hardware/sanitizer.sh."
    echo
    about
    about_sanitizer "--tool memcheck"
    echo
    echo "| program | arguments | alone | memcheck, leaks | stream-ordered races |"
    echo "|---|---|---|---|---|"
    row hold memset
    row hold kernel
    for allocations in 4 12 33; do
        row pools "$allocations"
        row pools "$allocations" kernel
    done
} >"$file"
rm "$file.build"
cat "$file"
exit "$wrong"
