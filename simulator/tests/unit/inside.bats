#!/usr/bin/env bats
# What is found inside a kernel. Each program has cases, which it lists without an argument: PROGRAM
# CASE correct must be silent under every schedule; PROGRAM CASE incorrect must be reported.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator simulator
    NVCC=$(type -P nvcc) || NVCC=$(type -P "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc") || true
    export NVCC
}

# pairs NAME HAZARD LINE: compiles simulator/tests/unit/kernels/NAME.cu and runs all its cases,
# whose reports have LINE, too
pairs() {
    local case
    [ -n "$NVCC" ] || skip "nvcc is not installed: what it makes is not compiled here"
    "$NVCC" -cudart=shared -lineinfo -o "$1" "$ROOT/simulator/tests/unit/kernels/$1.cu"
    PROGRAMS=. SIM_CHECK=leaks
    for case in $("./$1"); do reported "$1" "$case" "$2" "$3" || return; done
}

# silent WORD NAME CASE: with SIM_CHECK=WORD the incorrect case is not reported
silent() {
    SIM_CHECK=$1 run bounded "./$2" "$3" incorrect
    assert_success
    refute_output
}

@test "a read of memory that nobody has written is reported; a copy of it carries that along" {
    pairs unwritten "uninitialized read" ", at "
    silent no-init unwritten pool
}
