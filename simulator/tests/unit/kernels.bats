#!/usr/bin/env bats
# A program's own kernels, with a C function for each (simulator/user_kernels.h).

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/user_kernels
}

@test "a kernel's function works on the ranges, at the work's time, in streams and graphs" {
    as_expected user_kernels values
}

@test "each range of a launch is an access, by the name of the kernel and its line" {
    reported user_kernels halves "unordered writes" \
        "multiply other (stream 2) and multiply (stream 1) touch the same bytes of allocation 1" \
        "written    multiply, stream 1, at simulator/tests/unit/user_kernels.c:"
    reported user_kernels access_given "use before access is given" "sum (stream 3)"
}

@test "what a kernel's function does beside its declaration is reported, as far as it is seen" {
    reported user_kernels by_address "undeclared access" "memory[0], memory[1]"
    reported user_kernels read_only "undeclared access" "writes into memory[0]"
    reported user_kernels behind "undeclared access" "after the end of memory[0]"
    reported user_kernels before "undeclared access" "before the beginning of memory[0]"
    reported user_kernels neighbor "undeclared access" "after the end of memory[0]"
    SIM_CHECK=off prints "" "$PROGRAMS/user_kernels" behind incorrect
}

@test "a kernel's function that calls CUDA ends the program with a sentence" {
    exits 0 "$PROGRAMS/user_kernels" calls_cuda correct
    run bounded "$PROGRAMS/user_kernels" calls_cuda incorrect
    assert_failure
    assert_output --partial "the function of a kernel (sim_launch) calls CUDA"
}

@test "a range that no device can touch is a fault when the kernel runs" {
    exits 3 "$PROGRAMS/user_kernels" fault
    assert_line --partial "hazard: illegal address. multiply (stream 1) touched 0x"
    assert_line --regexp "^  used       multiply, stream 1, at .*user_kernels.c:[0-9]+$"
}

@test "a launch that makes no sense is refused with a sentence" {
    exits 0 "$PROGRAMS/user_kernels" refused
    assert_line "all as expected"
    assert_equal "$(grep -c '^simulated device: sim_launch: .*returns cudaErrorInvalidValue.$' \
        <<<"$output")" 12
    assert_line --partial 'the kernel "none" has no function (NULL)'
    assert_line --partial 'range 0 of the kernel "range at NULL" (16 bytes) begins at NULL'
    assert_line --partial 'the kernel "too many ranges" has 33 ranges; at most 32 are possible'
    exits 0 "$PROGRAMS/user_kernels" parameters
    assert_line --partial 'own kernel ("multiply", sim_launch) has no parameters to get or set'
}

@test "the journal has a kernel's name, bytes, stream and work" {
    SIM_JOURNAL=journal "$PROGRAMS/user_kernels" halves correct
    run jq -c 'select(.kernel == "multiply other") | [.call, .stream, .allocation, .bytes,
        .result]' journal
    assert_output '["sim_launch_kernel",2,1,2048,"cudaSuccess"]'
    run jq -c 'select(.op == "multiply other") | [.did, .stream, .allocation, .bytes]' journal
    assert_output '["run",2,1,2048]'
    # A launch has its own copy of its name.
    SIM_JOURNAL=journal "$PROGRAMS/user_kernels" values
    run jq -r 'select(.op) | .op' journal
    assert_line multiply
    refute_output --partial '?'
    SIM_FAIL=sim_launch_kernel:2 exits 1 "$PROGRAMS/user_kernels" halves correct
    assert_output --partial cudaErrorMemoryAllocation
}

@test "user_kernels.h serves C++ and the default streams of threads" {
    type -P g++ >/dev/null || skip "g++ is not installed"
    cat >program.cc <<'C'
#include "user_kernels.h"
#include <cstdio>
#include <cstdlib>

struct add { size_t count; int number; };
static void add(void *const *memory, const void *argument)
{
    int *data = static_cast<int *>(memory[0]);
    const struct add *a = static_cast<const struct add *>(argument);
    for (size_t i = 0; i < a->count; i++)
        data[i] += a->number;
}

int main()
{
    int *data, back[16];
    struct add a = {16, 5};
    cudaMallocAsync(reinterpret_cast<void **>(&data), sizeof back, 0);
    cudaMemsetAsync(data, 0, sizeof back, 0);
    if (sim_launch(0, "add", add, a, sim_read_write(data, sizeof back)))
        return 1;
    if (sim_launch_lasting(5000, 0, "add", add, a, sim_read(data, 32), sim_write(data, 64)))
        return 1;
    cudaMemcpyAsync(back, data, sizeof back, cudaMemcpyDeviceToHost, 0);
    cudaFreeAsync(data, 0);
    cudaStreamSynchronize(0);
    std::printf("%d\n", back[15]);
}
C
    local streams wanted
    for streams in '' -DCUDA_API_PER_THREAD_DEFAULT_STREAM; do
        # shellcheck disable=SC2086
        g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror $streams -I"$ROOT/simulator" \
            -isystem "$ROOT/build/cuda/include" program.cc "$ROOT/build/simulator/libcudart.so.13" \
            -o program
        SIM_JOURNAL=journal prints 10 ./program
        wanted='"legacy"'
        [ -z "$streams" ] || wanted='"per-thread"'
        assert_equal "$(jq -c 'select(.kernel) | .stream' journal | sort -u)" "$wanted"
    done
}

@test "kernels.h and kernels.cu have the same functions" {
    cd "$ROOT" || return 1
    run diff <(grep -oE '\b(launch|kernel)_[a-z]+\(' lessons/kernels.h | sort -u) \
        <(grep -oE '\b(launch|kernel)_[a-z]+\(' lessons/kernels.cu | sort -u)
    assert_output ""
}
