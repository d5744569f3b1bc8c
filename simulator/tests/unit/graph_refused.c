/* A launch without enough memory leaves nothing behind: what it took before it failed is given
 * back, even segments that other work of its stream still used. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include "kernels.h"

#define MiB ((size_t)1 << 20)

static cudaStream_t s;

/* A graph that allocates and frees this much, ready to be launched. */
static cudaGraphExec_t capture(size_t bytes)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    void *p;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&p, bytes, s);
    cudaMemsetAsync(p, 0, bytes, s);
    cudaFreeAsync(p, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    return exec;
}

static void say_reserved(const char *when)
{
    uint64_t reserved = 0;
    cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved);
    printf("%s: %zu MiB\n", when, (size_t)reserved / MiB);
}

int main(void)
{
    int *gate;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped);
    *gate = 0;
    cudaGraphExec_t small = capture(MiB), large = capture(200 * MiB);
    launch_hold(gate, s);
    printf("small: %s\n", cudaGetErrorName(cudaGraphLaunch(small, s)));
    printf("large: %s\n", cudaGetErrorName(cudaGraphLaunch(large, s)));
    cudaGraphExecDestroy(large);
    say_reserved("reserved while the small one is held");
    *(volatile int *)gate = 1;
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(small);
    cudaDeviceGraphMemTrim(0);
    say_reserved("reserved at the end");
    cudaFreeHost(gate);
    cudaStreamDestroy(s);
    return 0;
}
