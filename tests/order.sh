#!/usr/bin/env bash
# What a GPU, compute-sanitizer and the simulated device say to each program of tests/order/: order.sh [FILE.md], by default build/order.md.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make; it needs neither network nor the tools of the test suite. Each program runs plainly on the GPU,
# under compute-sanitizer where there is one, and on the simulated device (under SIM_SCHEDULE=late where only the schedule shows what is wrong). FILE.md receives a table of the wrong programs, one of the right ones, and
# the counts; FILE.tar all that was printed. Under compute-sanitizer the context is destroyed at the end of main, as its leak check wants.
#
# Nothing hangs for long: a plain run may take SECONDS_PLAIN (20) seconds, one under compute-sanitizer SECONDS_EACH (60), and what has not
# begun after SECONDS_ALL (480) is not run. JOBS (8) programs run at a time. Exit status 0: the tables are whole.
# shellcheck disable=SC2317  # the functions are called by the shells that xargs starts
set -u
file=$(realpath -m "${1:-build/order.md}")
cd "$(dirname "$0")/.." || exit 1
export SECONDS_PLAIN=${SECONDS_PLAIN:-20} SECONDS_EACH=${SECONDS_EACH:-60}
ROOT=$PWD FOLDER=${file%.md}.d
DEADLINE=$(($(date +%s) + ${SECONDS_ALL:-480}))
. tests/record.sh
export ROOT FOLDER DEADLINE
rm -rf "$FOLDER"
mkdir -p "$FOLDER" || exit 1

heading() { sed -n "/^#include/q; s|^ \* $2: ||p" "$1" | sed 's| \*/$||'; }      # heading FILE KEY

# ---- building ----

# The program's main, and after it the end of the context.
cat >"$FOLDER/main.c" <<'C'
#include <cuda_runtime_api.h>
#include <stdlib.h>
int program_main(void);
int main(void)
{
    int status = program_main();
    if (getenv("ORDER_RESET")) cudaDeviceReset();
    return status;
}
C

build_for_gpu() { # build_for_gpu NAME
    gcc -std=c11 -g -O1 -Ilessons -isystem build/gpu/include -Dmain=program_main -c "tests/order/$1.c" -o "$FOLDER/$1.o" &&
        gcc "$FOLDER/$1.o" "$FOLDER/main.o" build/gpu/kernels.o -Lbuild/gpu/lib -Wl,-rpath,"$(realpath build/gpu/lib)" -lcudart -lstdc++ -pthread -o "$FOLDER/$1.gpu"
}

# ---- running ----

in_time() { # bounded; its status is "late" when there is no time left to begin
    if [ "$(date +%s)" -ge "$DEADLINE" ]; then echo late >"$2.status"; else bounded "$@"; fi
}

plainly() { # what a run on the GPU came to
    local status
    status=$(cat "$FOLDER/$1.plain.status")
    case $status in
    0) [ -z "$2" ] && echo nothing || echo "nothing; prints $(head -n 1 "$FOLDER/$1.plain.out")" ;;
    late) echo "not run" ;;
    124 | 137) echo "hangs: stopped after $SECONDS_PLAIN s" ;;
    "$(heading "tests/order/$1.c" Status)") echo "nothing; status $status, as it should" ;;
    *) echo "status $status: $(head -n 1 "$FOLDER/$1.plain.err" | sed 's/.*: \(cuda[A-Za-z]*\) (.*/\1/' | tr '|' '/' | cut -c 1-80)" ;;
    esac
}

simulated() {
    local kind status
    [ -e "$FOLDER/$1.simulated.status" ] || { echo -; return; }
    status=$(cat "$FOLDER/$1.simulated.status")
    kind=$(accusation "$FOLDER/$1.simulated.err")
    if [ "$status" = late ]; then echo "not run"
    elif [ -n "$kind" ]; then echo "$kind"
    elif was_stopped "$status"; then echo "hangs: stopped after 10 s"
    elif [ "$status" != 0 ] && [ "$status" != "$(heading "tests/order/$1.c" Status)" ]; then echo "status $status"
    else echo "nothing${2:+; prints $(head -n 1 "$FOLDER/$1.simulated.out")}"; fi
}

row() { # row NAME PLAIN SANITIZED PRINTS
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$(heading "tests/order/$1.c" Kind)" "$2" "$3" "$(simulated "$1" "$4")" >"$FOLDER/$1.row"
}

one_program() { # one_program NAME: a row of its table
    local name=$1 source=tests/order/$1.c devices prints pace=measured
    devices=$(heading "$source" Devices)
    prints=$(heading "$source" Prints)$(heading "$source" Late)
    [ -z "$(heading "$source" Late)" ] || pace=late
    if [ -x "build/simulator/tests/order/$name" ]; then
        SIM_SCHEDULE=$pace in_time 10 "$FOLDER/$name.simulated" "build/simulator/tests/order/$name"
    fi
    if [ "${devices:-1}" -gt "$GPUS" ]; then
        row "$name" "skipped: needs $devices GPUs" skipped "$prints"
    elif ! build_for_gpu "$name" >"$FOLDER/$name.build" 2>&1; then
        row "$name" "does not compile: $(head -n 1 "$FOLDER/$name.build" | tr '|' '/')" - "$prints"
    else
        in_time "$SECONDS_PLAIN" "$FOLDER/$name.plain" "$FOLDER/$name.gpu"
        [ -z "$SANITIZER" ] || ORDER_RESET=1 in_time "$SECONDS_EACH" "$FOLDER/$name.sanitized" \
            "$SANITIZER" --tool memcheck --track-stream-ordered-races all --leak-check full "$FOLDER/$name.gpu"
        row "$name" "$(plainly "$name" "$prints")" "$(sanitized "$SECONDS_EACH" "$FOLDER/$name.sanitized")" "$prints"
    fi
    rm -f "$FOLDER/$name.o" "$FOLDER/$name.gpu"
}
export -f heading build_for_gpu in_time plainly simulated row one_program

programs=(tests/order/*_*.c)
names=("${programs[@]##*/}")
names=("${names[@]%.c}")
make -s -k -j"$(nproc)" BACKEND=simulator "${names[@]/#/build/simulator/tests/order/}" >"$FOLDER/build.simulator" 2>&1 ||
    echo "The simulated device, or a program for it, could not be built: $(tail -n 1 "$FOLDER/build.simulator")" >&2
if ! make -s build/gpu/kernels.o >"$FOLDER/build.gpu" 2>&1 || ! gcc -O1 -isystem build/gpu/include -c "$FOLDER/main.c" -o "$FOLDER/main.o"; then
    cat "$FOLDER/build.gpu" >&2
    exit 1
fi
# shellcheck disable=SC2016  # the shells that xargs starts expand it
printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-8}" -n 1 bash -c 'cd "$ROOT" && one_program "$1"' run

# ---- the tables ----

rows() { cat "$FOLDER"/*_"$1".row; }
counted() { # counted WHICH COLUMN: how many rows say that something is wrong, of how many that were run
    rows "$1" | awk -F ' *[|] *' -v column="$2" '$column ~ /^(nothing|$)/ { silent++ } $column !~ /^(nothing|-|not run|skipped|does not compile|$)/ { told++ } END { printf "%d of %d", told, told + silent }'
}
{
    echo "# What wrong programs come to"
    echo
    echo "Written by tests/order.sh: each program of tests/order, run on the GPU, under compute-sanitizer and on the simulated device."
    echo
    about
    about_sanitizer "--tool memcheck --track-stream-ordered-races all --leak-check full"
    echo
    echo "## Wrong programs"
    echo
    echo "| program | what is wrong | the GPU alone | compute-sanitizer | simulated device |"
    echo "|---|---|---|---|---|"
    rows wrong
    echo
    echo "## Right programs"
    echo
    echo "| program | | the GPU alone | compute-sanitizer | simulated device |"
    echo "|---|---|---|---|---|"
    rows right
    echo
    echo "## Counts"
    echo
    echo "| | the GPU alone | compute-sanitizer | simulated device |"
    echo "|---|---|---|---|"
    echo "| wrong programs noticed | $(counted wrong 4) | $(counted wrong 5) | $(counted wrong 6) |"
    echo "| right programs accused | $(counted right 4) | $(counted right 5) | $(counted right 6) |"
} >"$file"
cat "$file"
tar -cf "${file%.md}.tar" -C "$(dirname "$file")" "$(basename "$file")" "$(basename "$FOLDER")"
missing=0
for name in "${names[@]}"; do [ -s "$FOLDER/$name.row" ] || { echo "No row for $name." >&2; missing=1; }; done
exit "$missing"
