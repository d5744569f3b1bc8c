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
. tools/gpu/record.sh
times=${2:-5} each=${SECONDS_EACH:-8} wrong=0
folder=simulator/tests/facts/sanitizer
[ -n "$SANITIZER" ] || { echo "compute-sanitizer was not found." >&2; exit 1; }

outcome() { # outcome COMMAND...: how it ended
    local status=0 printed errors
    printed=$(timeout -k 2 "$each" "$@" 2>&1 </dev/null) || status=$?
    if was_stopped "$status"; then
        echo "stopped after $each s"
    elif grep -q "didn't terminate successfully" <<<"$printed"; then
        echo "died"
    else
        errors=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1 errors/p' <<<"$printed")
        [ "$status" = 0 ] || errors="${errors:+$errors, }status $status"
        echo "${errors:-ended}"
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

# row OPTION OPTION PROGRAM [ARGUMENT...]: one line of a table, how the program ended alone, and
# under the tool with the one and with the other option
row() {
    local one=$1 other=$2 program=build/gpu/$folder/$3 name=$3 alone
    shift 3
    alone=$(several "$program" "$@")
    [ "$alone" = "$times times ended" ] || wrong=1
    one=$(several "$SANITIZER" "$one" "$program" "$@")
    other=$(several "$SANITIZER" "$other" "$program" "$@")
    echo "| $name | $* | $alone | $one | $other |"
}

mkdir -p "$(dirname "$file")"
build gpu "$file.build" "$folder/"{hold,pools,faults} || exit 1
leaks=--leak-check=full races=--track-stream-ordered-races=all
mine=--target-processes=application-only all=--target-processes=all
{
    echo "# Correct programs under compute-sanitizer"
    echo
    echo "Written by tools/gpu/sanitizer.sh."
    echo
    about
    about_sanitizer "--tool memcheck"
    echo
    echo "| program | arguments | alone | $TOOL, leaks | its stream-ordered races |"
    echo "|---|---|---|---|---|"
    row $leaks $races hold memset
    row $leaks $races hold kernel
    row $leaks $races hold copy
    row $leaks $races hold allocation
    for allocations in 4 12 33; do
        row $leaks $races pools "$allocations"
        row $leaks $races pools "$allocations" kernel
    done
    echo
    echo "| program | arguments | alone | $TOOL, this process | all processes |"
    echo "|---|---|---|---|---|"
    row $mine $all faults exec
    row $mine $all faults fork
} >"$file"
rm "$file.build"
cat "$file"
exit "$wrong"
