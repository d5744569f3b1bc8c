#!/usr/bin/env bats
# Kernels that nvcc built: programs that nvcc compiles here, where it is found, and one that calls
# by hand what nvcc's code calls.

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
ran() { LD_LIBRARY_PATH=$ROOT/build/simulator run bounded ./program; }

@test "a launch whose kernel cannot run returns an error, and a sentence names the kernel once" {
    run "$PROGRAMS/nvcc_by_hand" refused
    assert_success
    assert_line "all as expected"
    assert_equal "$(grep -c '^simulated device: the kernel image::blur ' <<<"$output")" 1
    assert_output --partial "does not run here: its device code is of a form that is not known here"
    assert_output --partial "Its launches return cudaErrorNoKernelImageForDevice"
}

@test "SIM_KERNELS=refuse, or no PTX: a kernel that nvcc compiled gets an error, and no success" {
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
    local refused="cudaErrorNoKernelImageForDevice
cudaErrorNoKernelImageForDevice
0"
    compiled program.cu
    ran
    assert_success
    assert_output "cudaSuccess
cudaSuccess
7"
    SIM_KERNELS=refuse ran
    assert_success
    assert_line --partial "the kernel set was built by nvcc and does not run here: SIM_KERNELS is"
    assert_equal "$(grep -v '^simulated' <<<"$output")" "$refused"
    compiled program.cu -gencode arch=compute_90,code=sm_90
    ran
    assert_success
    assert_line --partial "it has code for GPUs alone and no PTX"
    assert_equal "$(grep -v '^simulated' <<<"$output")" "$refused"
}

@test "random kernels give on the simulated device what they give on the host" {
    [ -n "$NVCC" ] || skip "nvcc is not installed: random kernels are not compiled here"
    local seed seeds=(1) count=20
    [ -z "${TEST_LONG:-}" ] || seeds=({2..6}) count=40
    for seed in "${seeds[@]}"; do
        python3 "$ROOT/tests/simulator/random_kernels.py" "$seed" $count >random.cu
        compiled random.cu -fmad=false -gencode arch=compute_75,code=compute_75 \
            -Xcompiler -ffp-contract=off -diag-suppress 177,550
        ran
        assert_success
        assert_output "seed $seed: $count kernels compared, 0 differ"
    done
}

# judged CASE KIND WORDS...: order's case under every schedule, as reported() has it
judged() {
    local schedule words
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule LD_LIBRARY_PATH=$ROOT/build/simulator \
            run bounded ./program "$1" correct
        [ "$status" = 0 ] && [ -z "$output" ] ||
            miss "$1, correct, under SIM_SCHEDULE=$schedule, status $status:" "$output" || return
        SIM_SCHEDULE=$schedule LD_LIBRARY_PATH=$ROOT/build/simulator \
            run bounded ./program "$1" incorrect
        [ "$status" = 3 ] && [[ $output == *"hazard: $2"* ]] ||
            miss "$1, incorrect, under SIM_SCHEDULE=$schedule, status $status." \
                "Expected \"hazard: $2\":" "$output" || return
        for words in "${@:3}"; do assert_output --partial "$words"; done
    done
}

@test "the bytes that a kernel touches are accesses, exactly, whatever runs first" {
    cp "$ROOT/tests/simulator/kernels/order.cu" .
    compiled order.cu -g -lineinfo
    judged two_writes "unordered writes" "set, stream 1, at order.cu:" " at order.cu:12, by its"
    judged write_and_read "read not ordered after a write" ", by its argument 2"
    judged memset_behind "unordered writes"
    judged memset_before "unordered writes"
    judged fields "unordered writes"
    judged slices "unordered writes"
    judged atomics "unordered writes"
    judged by_data "write not ordered after a read"
    judged freed_behind "free before "
    judged before_allocation "use before allocation"
    judged after_free "use after free"
    judged outside "access outside the allocation" "touches bytes 262244 to 262247"
    judged captured "unordered writes" "(graph launch 1 in stream 1)"
}
