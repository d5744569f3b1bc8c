#!/usr/bin/env bash
# How often a program whose order is wrong, or whose pool looks at the device's progress, comes to
# which end on a GPU: chance.sh [FILE.md], by default build/chance.md.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make. facts/chance.txt has the programs, and a
# line "PROGRAM, a tab, an answer", a pattern of grep -E, for each answer that a GPU has given. Each
# program runs RUNS (20) times, at most SECONDS_EACH (20) seconds each; one that does not end is not
# run again. FILE.md receives a table: the answers, and how often each was given. An answer is all
# that the program printed, its lines joined by " / ", without the "~ " of lines that depend on the
# machine (tests/grading/machine.sed), and the exit status if it is not 0. A program that needs more
# GPUs than there are has no row.
# Exit status 0: every answer is one that facts/chance.txt has.
set -u
file=$(realpath -m "${1:-build/chance.md}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
folder=${file%.md}.d known=simulator/tests/facts/chance.txt new=0
rm -rf "$folder"
mkdir -p "$folder" || exit 1
mapfile -t programs < <(sed -n 's/^\([^#\t]*\)\t.*/\1/p' "$known" | uniq)
build gpu "$folder/build" "${programs[@]}" || new=1

answer() { # answer OUT: what a run came to
    local status
    status=$(cat "$1.status")
    if [ "$status" = 77 ]; then
        echo "not run here"
    elif was_stopped "$status"; then
        echo "did not end"
    else
        awk -v status="$status" '
            { sub(/^~ /, ""); gsub(/[|]/, "/"); printf "%s%s", (NR > 1 ? " / " : ""), $0 }
            END {
                if (status)
                    printf "%sexit status %s", (NR ? "; " : ""), status
                print ""
            }' "$1.out"
    fi
}

rows() { # rows PROGRAM: its lines of the table
    local out=$folder/${1##*/} run
    for ((run = 0; run < ${RUNS:-20}; run++)); do
        bounded "${SECONDS_EACH:-20}" "$out" "build/gpu/$1"
        answer "$out" | tee -a "$out.answers" | grep -q '^did not end$' && break
    done
    grep -vx "not run here" "$out.answers" | sort | uniq -c | sort -rn >"$out.counts"
    while read -r times answer; do
        echo "| $1 | $answer | $times |"
        grep -qxE -f <(sed -n "s|^$1\t||p" "$known") <<<"$answer" ||
            echo "$1"$'\t'"$answer" >>"$folder/new"
    done <"$out.counts"
}

{
    echo "# What chance decides on a GPU"
    echo
    echo "Written by tools/gpu/chance.sh: ${RUNS:-20} runs of each program whose answer" \
        "depends on how far the device is."
    echo
    about
    echo
    echo "| program | what it printed | runs |"
    echo "|---|---|---|"
    for program in "${programs[@]}"; do
        rows "$program"
    done
} >"$file"
cat "$file"
is_known "$folder/new" "Answers that are not in" "$known" || new=1
exit "$new"
