#!/usr/bin/env bash
# Do the answers of the book's questions hold on a GPU? questions.sh [FILE.md], by default
# build/questions.md.
#
# For a machine with GPUs, a CUDA toolkit, gcc, make and python3, which makes the mutants. Each run
# that tests/book/answers.txt has an answer from goes on the GPU and on the simulated device,
# there without its checker, for at most SECONDS_EACH (20) seconds each. FILE.md receives a table:
# does the GPU print the same lines (but for what depends on the machine,
# tests/grading/machine.sed), and end with the same status? Else it has the first line that differs.
# FILE.d holds all that was printed. A run that needs more GPUs than there are has no row.
# facts/questions.txt names the runs that differ, and why.
# Exit status 0: no other run does.
set -u
file=$(realpath -m "${1:-build/questions.md}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
folder=${file%.md}.d known=simulator/tests/facts/questions.txt wrong=0
rm -rf "$folder"
mkdir -p "$folder" || exit 1

# A line: the program, and its arguments.
runs() {
    local -A name=()
    local solution rest
    for solution in solutions/[0-9]*.c; do
        solution=${solution#solutions/}
        name[${solution%%_*}]=${solution%.c}
    done
    sed -nE 's/.*; make clinic-([0-9]+);.*/clinic \1/p
        s/.*; make solution-([0-9]+)( MUTANT=(\w+))?( ARGS="([^"]*)")?;.*/solution \1 \3:\5/p
        s/.*; make program LESSON=([^ ]*)\.c .*build\/program ([^;]*);.*/program \1 \2/p' \
        tests/book/answers.txt | sort -u |
        while read -r kind number rest; do
            case $kind in
            clinic) printf '%s\n' "docs/clinic/${number}_"*_wrong.c | sed 's/\.c$//' ;;
            solution)
                solution=solutions/${name[$number]}
                [ -z "${rest%%:*}" ] || solution=mutants/${name[$number]}/${rest%%:*}
                echo "$solution ${rest#*:}" ;;
            program) echo "$number $rest" ;;
            esac
        done
}
mapfile -t runs < <(runs | sed 's/ *$//')
mapfile -t programs < <(printf '%s\n' "${runs[@]%% *}" | sort -u)
mapfile -t mutants < <(printf '%s\n' "${programs[@]}" | sed -n 's|^mutants/.*|build/&.c|p')
[ "${#mutants[@]}" = 0 ] || make -s "${mutants[@]}" || exit 1
build gpu "$folder/build.gpu" "${programs[@]}" || wrong=1
build simulator "$folder/build.simulator" "${programs[@]}" || wrong=1

# said OUT: what a run printed, and how it ended, with the call that CHECK ended it for
said() {
    local error
    error=$(sed -nE 's/^[^ ]+\.[ch]:[0-9]+: (.*: cudaError\w+) \(.*/\1/p' "$1.err" | head -n 1)
    sed -E -f tests/grading/machine.sed "$1.out"
    echo "exit status $(cat "$1.status")${error:+: $error}"
}

row() { # row PROGRAM [ARGUMENT...]: its line of the table
    local out same=yes first=
    out=$folder/$(tr '/ ' '..' <<<"$*")
    bounded "${SECONDS_EACH:-20}" "$out" "build/gpu/$1" "${@:2}"
    [ "$(cat "$out.status")" != 77 ] || return 0
    SIM_CHECK=off bounded "${SECONDS_EACH:-20}" "$out.simulated" "build/simulator/$1" "${@:2}"
    first=$(diff <(said "$out.simulated") <(said "$out") |
        awk '/^</ && !a { a = substr($0, 3) } /^>/ && !b { b = substr($0, 3) }
            END { if (a b) { gsub(/[|]/, "/", a); gsub(/[|]/, "/", b)
                gsub(/  +/, " ", a); gsub(/  +/, " ", b); print a " | " b } }')
    [ -z "$first" ] || same=no
    echo "| $1 | ${*:2} | $same | ${first:- | } |"
    [ $same = yes ] || grep -q "^$*"$'\t' "$known" || echo "$*" >>"$folder/new"
}

{
    echo "# The questions' answers on a GPU"
    echo
    echo "Written by tools/gpu/questions.sh: each run that a question's answer comes from."
    echo
    about
    echo
    echo "| program | arguments | same | simulated device | GPU |"
    echo "|---|---|---|---|---|"
    for run in "${runs[@]}"; do
        read -ra words <<<"$run"
        row "${words[@]}"
    done
} >"$file"
cat "$file"
is_known "$folder/new" "Runs that differ, without a line in" "$known" || wrong=1
exit "$wrong"
