#!/usr/bin/env bats
# SIM_CHECK=strict: asynchronous copies of ordinary memory order nothing.

load ../../../tests/suite
load own_folder

setup_file() {
    make -s BACKEND=simulator simulator
    # The argument says how the free is ordered after the fill.
    cat >"$BATS_FILE_TMPDIR/program.c" <<'C'
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MiB ((size_t)1 << 20)
int main(int count, char **arguments)
{
    const char *how = arguments[count - 1];
    cudaStream_t a, b;
    cudaEvent_t event;
    char *data, *host = malloc(4 * MiB);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaMallocAsync((void **)&data, 4 * MiB, a);
    cudaMemsetAsync(data, 7, 4 * MiB, a);
    if (!strcmp(how, "out"))
        cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a);
    if (!strcmp(how, "in"))
        cudaMemcpyAsync(data, host, 4 * MiB, cudaMemcpyHostToDevice, a);
    if (!strcmp(how, "event")) {
        cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a);
        cudaEventRecord(event, a);
        cudaStreamWaitEvent(b, event, 0);
    }
    if (!strcmp(how, "wait")) {
        cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a);
        cudaStreamSynchronize(a);
    }
    if (!strcmp(how, "blocking")) {
        cudaStreamSynchronize(a);
        cudaMemcpy(host, data, MiB, cudaMemcpyDeviceToHost);
    }
    cudaFreeAsync(data, b);
    printf("%d\n", host[0]);
    free(host);
    return (int)cudaDeviceSynchronize();
}
C
    gcc -g -I"$ROOT/simulator" -isystem "$ROOT/build/cuda/include" "$BATS_FILE_TMPDIR/program.c" \
        "$ROOT/build/simulator/libcudart.so.13" -o "$BATS_FILE_TMPDIR/program"
}

program() { run timeout 20 "$BATS_FILE_TMPDIR/program" "$@"; }

@test "strict: a free that only such a copy puts behind other work is reported, and else is not" {
    local schedule
    for schedule in measured instant late random:1; do
        export SIM_SCHEDULE=$schedule
        SIM_CHECK=on program out
        assert_success
        assert_output 7
        SIM_CHECK=strict program out
        assert_failure 3
        assert_line --partial "hazard: free before the use ends."
        assert_line 7
    done
}

@test "strict: what orders by itself still does" {
    local how
    export SIM_CHECK=strict
    for how in event wait blocking; do
        program "$how"
        assert_success
        assert_output 7
    done
}

@test "strict: a copy from ordinary memory orders nothing with it, nor without" {
    local check
    for check in on strict; do
        SIM_CHECK=$check program in
        assert_failure 3
    done
}
