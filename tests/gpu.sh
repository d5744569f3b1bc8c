#!/usr/bin/env bash
# Records what the solutions print on a real GPU: gpu.sh [FOLDER], by default build/gpu-record.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make; it needs neither network nor the tools of the test suite. Each line of
# tests/gpu_runs.txt is run on the GPU and on the simulated device, and under compute-sanitizer where there is one. A run may take
# SECONDS_EACH (60) seconds, so that one that hangs does not eat the time of the others.
# FOLDER then holds NN_name.txt or NN_name.ARGUMENT.txt (stdout on the GPU), .simulator.txt, .leaks.txt and .races.txt beside it, gpu.md
# (the table), and all of it once more as record.tar. Exit status 0: every run ended with 0 and printed what was expected.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=${1:-build/gpu-record}
each=${SECONDS_EACH:-60}
mkdir -p "$folder" || exit 1
wrong=0
. tests/record.sh

# build DEVICE PROGRAM: make says why when it cannot
build() { make -s BACKEND="$1" "build/$1/solutions/$2" >"$folder/build.log" 2>&1 || { cat "$folder/build.log" >&2; false; }; }

words() { sed -E -f tests/tools/machine.sed "$1"; }
same() { # same FILE FILE: yes or no, or - when the first is not there; the machine's own numbers may differ
    if [ ! -e "$1" ]; then echo "-"; elif cmp -s <(words "$1") <(words "$2"); then echo yes; else echo no; fi
}

# sanitize OUT OPTIONS... -- PROGRAM...: the number of errors, or how it ended. A lesson may provoke an API error: that is none. Nor is
# a kernel's fault that lesson 12 provokes in a process that it starts for that: there the sanitizer watches the first process only.
sanitize() {
    local out=$1 status=0 options=() count
    shift
    [ -n "$SANITIZER" ] || { echo "-"; return; }
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    [[ $1 != */12_* ]] || options+=(--target-processes application-only)
    timeout -k 5 "$each" "$SANITIZER" --tool memcheck --report-api-errors no "${options[@]}" "$@" >"$out" 2>&1 || status=$?
    count=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$out" | tail -n 1)
    if was_stopped "$status"; then echo "stopped after $each s"
    elif grep -q "didn't terminate successfully" "$out"; then echo "${count:-?}, the program failed under the sanitizer"
    else echo "${count:-status $status}"; fi
}

one_run() { # one_run LESSON [ARGUMENT]: one line of the table
    local lesson=$1 name=$1${2:+.$2} status=0 simulated leaks races expected
    shift
    if ! build gpu "$lesson"; then
        wrong=1
        echo "| $lesson | ${1:-} | does not compile | | | | |"
        return
    fi
    timeout -k 5 "$each" "build/gpu/solutions/$lesson" "$@" >"$folder/$name.txt" 2>"$folder/$name.stderr.txt" </dev/null || status=$?
    if [ "$status" = 77 ]; then     # it says why, in its one line
        echo "| $lesson | ${1:-} | $(head -n 1 "$folder/$name.txt") | | | | |"
        rm -f "$folder/$name".*
        return
    fi
    [ -s "$folder/$name.stderr.txt" ] || rm -f "$folder/$name.stderr.txt"
    if build simulator "$lesson"; then
        timeout -k 5 "$each" "build/simulator/solutions/$lesson" "$@" >"$folder/$name.simulator.txt" 2>/dev/null </dev/null
    fi
    expected=$(same "tests/lessons/expected/$name.txt" "$folder/$name.txt")
    simulated=$(same "$folder/$name.simulator.txt" "$folder/$name.txt")
    leaks=$(sanitize "$folder/$name.leaks.txt" --leak-check full -- "build/gpu/solutions/$lesson" "$@")
    races=$(sanitize "$folder/$name.races.txt" --track-stream-ordered-races all -- "build/gpu/solutions/$lesson" "$@")
    [ "$status" = 0 ] || status="$status ($(head -n 1 "$folder/$name.stderr.txt" 2>/dev/null))"
    if [ "$status" != 0 ] || [ "$expected" = no ]; then wrong=1; fi
    echo "| $lesson | ${1:-} | $status | $expected | $simulated | $leaks | $races |"
}

{
    echo "# The lessons on a GPU"
    echo
    echo "Written by tests/gpu.sh: each solution, as it ran on the device named here."
    echo
    about
    about_sanitizer "--tool memcheck --report-api-errors no"
    echo
    echo "| lesson | MiB | exit status | same as expected | same as simulator | memcheck, leaks | stream-ordered races |"
    echo "|---|---|---|---|---|---|---|"
    while read -r lesson argument; do
        case $lesson in '' | '#'*) continue ;; esac
        # shellcheck disable=SC2086  # no argument is none, not an empty one
        one_run "$lesson" $argument </dev/null
    done <tests/gpu_runs.txt
    [ "$wrong" = 0 ]
} | tee "$folder/gpu.md"
wrong=${PIPESTATUS[0]}
rm -f "$folder/build.log"
tar -cf "$folder/record.tar" --exclude=record.tar -C "$folder" .
exit "$wrong"
