#!/usr/bin/env bash
# What a GPU, compute-sanitizer and the simulated device make of each litmus program:
# litmus.sh [FILE.md], by default build/litmus.md.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make; it needs neither network nor the tools of
# the test suite. Each program runs plainly on the GPU, under compute-sanitizer where there is one,
# and on the simulated device (under the schedule late where only the schedule shows what is wrong).
# FILE.md receives a table of the incorrect programs, one of the correct ones, and the counts;
# FILE.tar all that was printed. Under compute-sanitizer the context is destroyed at the end of
# main, which its leak check needs.
#
# Nothing hangs for long: a plain run may take SECONDS_PLAIN (20) seconds, one under
# compute-sanitizer SECONDS_EACH (60), and what has not begun after SECONDS_ALL (480) is not run.
# JOBS (8) programs run at a time. Exit status 0: the tables are whole.
# shellcheck disable=SC2317  # the functions are called by the shells that xargs starts
set -u
file=$(realpath -m "${1:-build/litmus.md}")
cd "$(dirname "$0")/../.." || exit 1
export SECONDS_PLAIN=${SECONDS_PLAIN:-20} SECONDS_EACH=${SECONDS_EACH:-60}
ROOT=$PWD FOLDER=${file%.md}.d
DEADLINE=$(($(date +%s) + ${SECONDS_ALL:-480}))
. tools/gpu/record.sh
export ROOT FOLDER DEADLINE
rm -rf "$FOLDER"
mkdir -p "$FOLDER" || exit 1

source_of() { echo "simulator/tests/litmus/${1%_wrong}.c"; }

# heading PROGRAM KEY: the value, of the part of the heading that speaks of the program
heading() {
    awk -v key=" * $2: " -v incorrect="$([[ $1 != *_wrong ]] || echo 1)" '
        /^#include/ { exit }
        /^ \* WRONG: / { after = 1 }
        index($0, key) == 1 && (!after == !incorrect) {
            sub(/ \*\/$/, "")
            print substr($0, length(key) + 1)
            exit
        }' "$(source_of "$1")"
}

# ---- building ----

# The program's main, and after it the end of the context.
cat >"$FOLDER/main.c" <<'C'
#include <cuda_runtime_api.h>
#include <stdlib.h>
int program_main(void);
int main(void)
{
    int status = program_main();
    if (getenv("LITMUS_RESET"))
        cudaDeviceReset();
    return status;
}
C

build_for_gpu() { # build_for_gpu PROGRAM
    local variant=()
    [[ $1 != *_wrong ]] || variant=(-DWRONG)
    gcc -std=c11 -g -O1 -pthread -Ilessons -isystem build/gpu/include "${variant[@]}" \
        -Dmain=program_main -c "$(source_of "$1")" -o "$FOLDER/$1.o" &&
        gcc "$FOLDER/$1.o" "$FOLDER/main.o" build/gpu/kernels.o -Lbuild/gpu/lib \
            -Wl,-rpath,"$(realpath build/gpu/lib)" -lcudart -lstdc++ -pthread -o "$FOLDER/$1.gpu"
}

# ---- running ----

# bounded; the status is "late" when there is no time left to begin
in_time() {
    if is_late; then
        echo late >"$2.status"
    else
        bounded "$@"
    fi
}

# plainly PROGRAM PRINTS: what a run on the GPU came to
plainly() {
    local status error
    status=$(cat "$FOLDER/$1.plain.status")
    case $status in
    0) [ -z "$2" ] && echo nothing || echo "nothing; prints $(head -n 1 "$FOLDER/$1.plain.out")" ;;
    late) echo "not run" ;;
    124 | 137) echo "hangs: stopped after $SECONDS_PLAIN s" ;;
    "$(heading "$1" Status)") echo "nothing; status $status, as it should" ;;
    *)
        error=$(head -n 1 "$FOLDER/$1.plain.err" | sed 's/.*: \(cuda[A-Za-z]*\) (.*/\1/')
        echo "status $status: $(tr '|' '/' <<<"$error" | cut -c 1-80)"
        ;;
    esac
}

# simulated PROGRAM PRINTS: what a run on the simulated device came to
simulated() {
    local kind status
    [ -e "$FOLDER/$1.simulated.status" ] || { echo -; return; }
    status=$(cat "$FOLDER/$1.simulated.status")
    kind=$(reported_kind "$FOLDER/$1.simulated.err")
    if [ "$status" = late ]; then
        echo "not run"
    elif [ -n "$kind" ]; then
        echo "$kind"
    elif was_stopped "$status"; then
        echo "hangs: stopped after 10 s"
    elif [ "$status" != 0 ] && [ "$status" != "$(heading "$1" Status)" ]; then
        echo "status $status"
    else
        echo "nothing${2:+; prints $(head -n 1 "$FOLDER/$1.simulated.out")}"
    fi
}

row() { # row PROGRAM PLAIN SANITIZED PRINTS
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$(heading "$1" Kind)" "$2" "$3" \
        "$(simulated "$1" "$4")" >"$FOLDER/$1.row"
}

one_program() { # one_program PROGRAM: a row of its table
    local name=$1 devices prints schedule=measured at=$FOLDER/$1
    devices=$(heading "${name%_wrong}" Devices)
    prints=$(heading "$name" Prints)$(heading "$name" Late)
    [ -z "$(heading "$name" Late)" ] || schedule=late
    if [ -x "build/simulator/simulator/tests/litmus/$name" ]; then
        SIM_SCHEDULE=$schedule in_time 10 "$at.simulated" \
            "build/simulator/simulator/tests/litmus/$name"
    fi
    if [ "${devices:-1}" -gt "$GPUS" ]; then
        row "$name" "skipped: needs $devices GPUs" skipped "$prints"
    elif ! build_for_gpu "$name" >"$at.build" 2>&1; then
        row "$name" "does not compile: $(head -n 1 "$at.build" | tr '|' '/')" - "$prints"
    else
        in_time "$SECONDS_PLAIN" "$at.plain" "$at.gpu"
        [ -z "$SANITIZER" ] || LITMUS_RESET=1 in_time "$SECONDS_EACH" "$at.sanitized" \
            "$SANITIZER" --tool memcheck --track-stream-ordered-races all --leak-check full \
            "$at.gpu"
        row "$name" "$(plainly "$name" "$prints")" \
            "$(sanitized "$SECONDS_EACH" "$at.sanitized")" "$prints"
    fi
    rm -f "$at.o" "$at.gpu"
}
export -f source_of heading build_for_gpu in_time plainly simulated row one_program

correct=() incorrect=()
mapfile -t cases < <(grep -l '^#include "litmus.h"' simulator/tests/litmus/*.c)
for case in "${cases[@]}"; do
    name=$(basename "$case" .c)
    correct+=("$name")
    ! grep -q '^ \* WRONG: ' "$case" || incorrect+=("${name}_wrong")
done
names=("${incorrect[@]}" "${correct[@]}")
make -s -k -j"$(nproc)" BACKEND=simulator "${names[@]/#/build/simulator/simulator/tests/litmus/}" \
    >"$FOLDER/build.simulator" 2>&1 ||
    echo "The simulated device, or a program for it, could not be built:" \
        "$(tail -n 1 "$FOLDER/build.simulator")" >&2
if ! make -s build/gpu/kernels.o >"$FOLDER/build.gpu" 2>&1 ||
    ! gcc -O1 -isystem build/gpu/include -c "$FOLDER/main.c" -o "$FOLDER/main.o"; then
    cat "$FOLDER/build.gpu" >&2
    exit 1
fi
# shellcheck disable=SC2016  # the shells that xargs starts expand it
run_programs() { # run_programs JOBS PROGRAM...
    printf '%s\n' "${@:2}" | xargs -r -P "$1" -n 1 bash -c 'cd "$ROOT" && one_program "$1"' run
}
alone=() together=()
for name in "${names[@]}"; do
    if grep -q cudaMemGetInfo "$(source_of "$name")"; then alone+=("$name")
    else together+=("$name"); fi
done
run_programs "${JOBS:-8}" "${together[@]}"
SECONDS_EACH=${SECONDS_ALONE:-20} run_programs 1 "${alone[@]}"

# ---- the tables ----

rows() { # rows PROGRAM...
    local name
    for name in "$@"; do cat "$FOLDER/$name.row"; done
}

# counted COLUMN PROGRAM...: in how many rows the column has a complaint, of how many that were run
counted() {
    rows "${@:2}" | awk -F ' *[|] *' -v column="$1" '
        $column ~ /^(nothing|$)/ { silent++ }
        $column !~ /^(nothing|-|not run|skipped|does not compile|$)/ { noticed++ }
        END { printf "%d of %d", noticed, noticed + silent }'
}

{
    echo "# What incorrect programs come to"
    echo
    echo "Written by tools/gpu/litmus.sh: each program of simulator/tests/litmus, run on the GPU," \
        "under compute-sanitizer and on the simulated device."
    echo
    about
    about_sanitizer "--tool memcheck --track-stream-ordered-races all --leak-check full"
    echo
    echo "## Incorrect programs"
    echo
    echo "| program | what is wrong | the GPU alone | $TOOL | simulated device |"
    echo "|---|---|---|---|---|"
    rows "${incorrect[@]}"
    echo
    echo "## Correct programs"
    echo
    echo "| program | | the GPU alone | $TOOL | simulated device |"
    echo "|---|---|---|---|---|"
    rows "${correct[@]}"
    echo
    echo "## Counts"
    echo
    echo "| | the GPU alone | $TOOL | simulated device |"
    echo "|---|---|---|---|"
    echo "| incorrect programs noticed | $(counted 4 "${incorrect[@]}") |" \
        "$(counted 5 "${incorrect[@]}") | $(counted 6 "${incorrect[@]}") |"
    echo "| correct programs reported | $(counted 4 "${correct[@]}") |" \
        "$(counted 5 "${correct[@]}") | $(counted 6 "${correct[@]}") |"
} >"$file"
cat "$file"
tar -cf "${file%.md}.tar" -C "$(dirname "$file")" "$(basename "$file")" "$(basename "$FOLDER")"
missing=0
for name in "${names[@]}"; do
    [ -s "$FOLDER/$name.row" ] || { echo "No row for $name." >&2; missing=1; }
done
exit "$missing"
