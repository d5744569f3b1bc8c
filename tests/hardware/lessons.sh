#!/usr/bin/env bash
# Records what the solutions print on a GPU: lessons.sh [FILE.md], by default build/lessons.md.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make; it needs neither network nor the tools of
# the test suite. Each line of gpu_runs.txt is run on the GPU and on the simulated device, and under
# compute-sanitizer where there is one. A run may take SECONDS_EACH (60) seconds, so that one that
# hangs does not eat the time of the others. FILE.md receives the table; FILE.d holds NN_name.txt or
# NN_name.ARGUMENT.txt (stdout on the GPU), and .simulator.txt, .leaks.txt and .races.txt beside it.
# Exit status 0: every run ended with 0 and printed what was expected.
set -u
file=$(realpath -m "${1:-build/lessons.md}")
cd "$(dirname "$0")/../.." || exit 1
. tests/hardware/record.sh
folder=${file%.md}.d each=${SECONDS_EACH:-60} wrong=0
rm -rf "$folder"
mkdir -p "$folder" || exit 1

words() { sed -E -f tests/tools/machine.sed "$1"; }

# same FILE FILE: yes or no, or - when the first is not there; the machine's own numbers may differ
same() {
    if [ ! -e "$1" ]; then
        echo "-"
    elif cmp -s <(words "$1") <(words "$2"); then
        echo yes
    else
        echo no
    fi
}

# sanitize OUT OPTION LESSON [ARGUMENT]: the number of errors, or how it ended. A lesson may provoke
# an API error: that is none. Nor is a kernel's fault that lesson 12 provokes in a process that it
# starts for that: there the sanitizer watches the first process only.
sanitize() {
    local out=$1 status=0 options=(--tool memcheck --report-api-errors no) more count
    [ -n "$SANITIZER" ] || { echo "-"; return; }
    read -ra more <<<"$2"
    options+=("${more[@]}")
    shift 2
    [[ $1 != 12_* ]] || options+=(--target-processes application-only)
    timeout -k 5 "$each" "$SANITIZER" "${options[@]}" "build/gpu/$(program_of "$1")" "${@:2}" \
        >"$out" 2>&1 </dev/null || status=$?
    count=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$out" | tail -n 1)
    if was_stopped "$status"; then
        echo "stopped after $each s"
    elif grep -q "didn't terminate successfully" "$out"; then
        echo "${count:-?}, the program failed under the sanitizer"
    else
        echo "${count:-status $status}"
    fi
}

program_of() { # program_of LESSON: its solution; a name with a folder is a program of the book
    case $1 in */*) echo "$1" ;; *) echo "solutions/$1" ;; esac
}

one_run() { # one_run LESSON [ARGUMENT]: one line of the table
    local lesson=$1 name=${1##*/}${2:+.$2} program out status expected simulated leaks races
    out=$folder/$name
    program=$(program_of "$1")
    if [ ! -x "build/gpu/$program" ]; then
        wrong=1
        echo "| $lesson | ${2:-} | does not compile | | | | |"
        return
    fi
    bounded "$each" "$out" "build/gpu/$program" "${@:2}"
    mv "$out.out" "$out.txt"
    status=$(cat "$out.status")
    if [ "$status" = 77 ]; then # its one line has the reason
        echo "| $lesson | ${2:-} | $(head -n 1 "$out.txt") | | | | |"
        rm -f "$out".*
        return
    fi
    bounded "$each" "$out.simulator" "build/simulator/$program" "${@:2}"
    mv "$out.simulator.out" "$out.simulator.txt"
    expected=$(same "tests/lessons/expected/$name.txt" "$out.txt")
    simulated=$(same "$out.simulator.txt" "$out.txt")
    leaks=$(sanitize "$out.leaks.txt" "--leak-check full" "$@")
    races=$(sanitize "$out.races.txt" "--track-stream-ordered-races all" "$@")
    if [ "$status" != 0 ] || [ "$expected" = no ]; then
        wrong=1
    fi
    [ "$status" = 0 ] || status="$status ($(head -n 1 "$out.err"))"
    echo "| $lesson | ${2:-} | $status | $expected | $simulated | $leaks | $races |"
}

mapfile -t runs < <(grep -v '^#' tests/hardware/gpu_runs.txt)
mapfile -t programs < <(for run in "${runs[@]}"; do program_of "${run%% *}"; done | sort -u)
build gpu "$folder/build.gpu" "${programs[@]}" || wrong=1
build simulator "$folder/build.simulator" "${programs[@]}" || wrong=1
{
    echo "# The lessons on a GPU"
    echo
    echo "Written by tests/hardware/lessons.sh: each solution, as it ran on the device named here."
    echo
    about
    about_sanitizer "--tool memcheck --report-api-errors no"
    echo
    echo "| lesson | MiB | exit status | same as expected | same as simulator |" \
        "memcheck, leaks | stream-ordered races |"
    echo "|---|---|---|---|---|---|---|"
    for run in "${runs[@]}"; do
        read -ra lesson_and_argument <<<"$run"
        one_run "${lesson_and_argument[@]}"
    done
} >"$file"
cat "$file"
exit "$wrong"
