# For tests of the simulated device. Each runs in a folder of its own, and the only setting is that
# leaks are reported. The C programs of this folder are in $PROGRAMS. Use "load programs" after
# "load ../suite".
# shellcheck shell=bash disable=SC2034,SC2154  # names here and in the tests are for each other

SCHEDULES=(measured instant late random:3)

PROGRAMS=$ROOT/build/simulator/simulator/tests/unit
FACTS=$ROOT/build/simulator/simulator/tests/facts
NVCC=$(type -P nvcc) || NVCC=$(type -P "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc") || true

setup_file() { make -s BACKEND=simulator simulator; }

setup() {
    unset "${!SIM_@}"
    export SIM_CHECK=leaks,no-init LD_LIBRARY_PATH=$ROOT/build/simulator
    cd "$BATS_TEST_TMPDIR" || return 1
}

# exits STATUS COMMAND...: as run; the command ends in time, with this status
exits() {
    run bounded "${@:2}"
    [ "$status" = "$1" ] || miss "Exit status $status, not $1: ${*:2}" "$output"
}

# prints OUTPUT COMMAND...: as run; the command prints only this, and ends with status 0
prints() {
    exits 0 "${@:2}" || return
    assert_output "$1"
}

# given FILE: writes what this is given to the file, unless it is there
given() { [ -e "$1" ] || cat >"$1"; }

# build FILE [OPTION...]: compiles ./program from C or C++, also a given one, or skips the test
build() {
    local compiler=${CC:-gcc}
    given "$1"
    [[ $1 == *.c ]] || compiler=${CXX:-g++}
    type -P "$compiler" >/dev/null || skip "$compiler is not installed"
    "$compiler" -g -Wall -Wextra "${@:2}" -I"$ROOT"/lessons -I"$ROOT"/simulator \
        -isystem "$ROOT/build/cuda/include" "$1" "$ROOT/build/simulator/libcudart.so.13" -pthread \
        -o program
}

# main_of FILE [OPTION...]: the same from the body of a main
main_of() {
    given "$1"
    cat >"main.${1##*.}" <<END
#include <cuda_runtime.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels.h"
int main(int argc, char **argv)
{
    (void)argc, (void)argv;
#include "$PWD/$1"
}
END
    build "main.${1##*.}" "${@:2}"
}

# compiled FILE.cu [OPTION...]: compiles ./program, from the sources in this folder and a given one.
# That takes longer than the test that runs it, so it is kept in build/, with its sources, by their
# bytes and names, the options, the headers that it may include, this workbook's place, and this.
# The test goes on there, because its lines have the paths of that folder.
compiled() {
    local kept sources
    need_nvcc
    given "$1"
    mapfile -t sources < <(find . -name '*.cu' -o -name '*.h' | LC_ALL=C sort)
    kept=$({
        printf '%s\n' "$ROOT" "${sources[@]}" "$@" && "$NVCC" --version
        cat "${sources[@]}" "$1" "$ROOT"/{lessons,simulator/tests{,/unit/kernels}}/*.h \
            "${BASH_SOURCE[0]}"
    } | sha1sum)
    kept=$ROOT/build/kernels/${kept%% *}
    [ -e "$kept/program" ] || (
        mkdir -p "$kept"
        [ "${#sources[@]}" = 0 ] || cp --parents "${sources[@]}" "$kept"
        cd "$kept" || return
        "$NVCC" -cudart=shared "${@:2}" "$1" -o "program.$BASHPID"
        mv "program.$BASHPID" program
    ) || return
    cd "$kept" || return
}
need_nvcc() {
    [ -n "$NVCC" ] || skip "nvcc is not installed: what it makes is not compiled here"
}

# kernels NAME...: simulator/tests/unit/kernels/NAME.cu into ./NAME, with the options of its line
# "// nvcc: " and those of OPTIONS
kernels() {
    local name file options here=$PWD
    need_nvcc
    for name; do
        file=$ROOT/simulator/tests/unit/kernels/$name.cu
        read -ra options < <(sed -n 's|^// nvcc: ||p' "$file") || true
        compiled "$file" -std=c++17 -arch=compute_90 -lineinfo -Xcompiler -rdynamic -ldl \
            ${options[@]+"${options[@]}"} ${OPTIONS:+"$OPTIONS"}
        cp program "$here/$name"
        cd "$here" || return
    done
}

# random_kernels SEED COUNT: COUNT kernels give what the same code gives on the host
random_kernels() {
    mkdir -p "$BATS_TEST_TMPDIR/random"
    cd "$BATS_TEST_TMPDIR/random" || return
    python3 -SB "$ROOT/simulator/tests/unit/random_kernels.py" "$1" "$2" >random.cu
    compiled random.cu -fmad=false -gencode arch=compute_75,code=compute_75 \
        -Xcompiler -ffp-contract=off -diag-suppress 177,186,550
    prints "seed $1: $2 kernels compared, 0 differ" ./program
    cd "$BATS_TEST_TMPDIR" || return
}

# always OUTPUT COMMAND...: under every schedule it prints only this, and ends with status 0
always() {
    local schedule
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule run bounded "${@:2}"
        [ "$status $output" = "0 $1" ] ||
            miss "${*:2} under SIM_SCHEDULE=$schedule, status $status:" "$output" || return
    done
}

# as_expected PROGRAM [ARGUMENT...]: it always prints only "all as expected"
as_expected() { always "all as expected" "$PROGRAMS/$1" "${@:2}"; }

# all_as_expected PROGRAM EXCEPT...: the same for each of its cases but these, which are judged
# otherwise
all_as_expected() {
    local case
    for case in $("$PROGRAMS/$1"); do
        [[ " ${*:2} " == *" $case "* ]] || as_expected "$1" "$case" || return
    done
}

# reported PROGRAM CASE KIND WORDS...: under every schedule, nothing is reported in the correct
# case, and this hazard first in the incorrect one. CASE is "" if the program has only one.
reported() {
    local schedule words first
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule run bounded "$PROGRAMS/$1" ${2:+"$2"} correct
        [ "$status" = 0 ] && [ -z "$output" ] ||
            miss "$2, correct, under SIM_SCHEDULE=$schedule, status $status:" "$output" || return
        SIM_SCHEDULE=$schedule run bounded "$PROGRAMS/$1" ${2:+"$2"} incorrect
        first=$(grep -m 1 '^hazard: ' <<<"$output") || true
        [ "$status" = 3 ] && [[ $first == "hazard: $3."* ]] ||
            miss "$2, incorrect, under SIM_SCHEDULE=$schedule, status $status." \
                "Expected \"hazard: $3\":" "$output" || return
    done
    for words in "${@:4}"; do assert_output --partial "$words"; done
}
