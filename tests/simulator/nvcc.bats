#!/usr/bin/env bats
# Kernels that nvcc built: programs that nvcc compiles here, where it is found, and one that calls by
# hand what nvcc's code calls.

load ../suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/tests/simulator/nvcc_by_hand
    NVCC=$(type -P nvcc) || NVCC=$(type -P "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc") || true
    export NVCC
}

# compiled FILE.cu [OPTION...]: the program, in ./program
compiled() {
    [ -n "$NVCC" ] || skip "nvcc is not installed: what it makes is not compiled here"
    "$NVCC" -cudart=shared "${@:2}" "$1" -o program
}

# The program, compiled, finds the simulated device by this alone.
ran() { LD_LIBRARY_PATH=$ROOT/build/simulator run bounded ./program "$@"; }

@test "a launch whose kernel cannot run returns an error, and a sentence names the kernel once" {
    run "$PROGRAMS/nvcc_by_hand" refused
    assert_success
    assert_line "all as expected"
    assert_equal "$(grep -c '^simulated device: the kernel image::blur ' <<<"$output")" 1
    assert_output --partial "the launch returns cudaErrorNoKernelImageForDevice"
}

@test "a program compiled by nvcc whose kernel cannot run gets an error, and no success" {
    cat >program.cu <<'C'
#include <cstdio>
template <class T> __global__ void set(T *a, T value) { a[threadIdx.x] = value; }
int main()
{
    int *a, here = 5;
    cudaMalloc(&a, sizeof *a);
    for (int i = 0; i < 2; i++) {
        set<<<1, 1>>>(a, 7);
        printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    }
    cudaMemcpy(&here, a, sizeof here, cudaMemcpyDefault);
    printf("%d\n", here);
    cudaFree(a);
}
C
    compiled program.cu
    ran
    assert_success
    assert_line --index 0 --partial "simulated device: the kernel set was built by nvcc"
    assert_equal "$(tail -n +2 <<<"$output")" "cudaErrorNoKernelImageForDevice
cudaErrorNoKernelImageForDevice
0"
}
