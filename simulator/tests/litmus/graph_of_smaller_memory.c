/* A graph's copy reads an allocation, which is freed after the launch. The next allocation gets the
 * address, and is smaller.
 * Prints: cudaSuccess
 *
 * WRONG: the graph is launched when the address is the smaller allocation's. The node keeps its
 * pointer, and reads more than is there.
 * Prints: cudaErrorIllegalAddress
 * Kind: use after free */
#include "litmus.h"

LITMUS(a)
{
    char *from, *to;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(cudaMallocAsync((void **)&from, 1024, a));
    CHECK(cudaMemsetAsync(from, 1, 1024, a));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(to, from, 1024, cudaMemcpyDeviceToDevice, a)); /* access */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
#ifndef WRONG
    CHECK(cudaGraphLaunch(exec, a));
#endif
    CHECK(cudaFreeAsync(from, a)); /* free */
    CHECK(cudaMallocAsync((void **)&from, 512, a));
#ifdef WRONG
    (void)cudaGraphLaunch(exec, a);
#endif
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(a)));
    CHECK(cudaFreeAsync(from, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(to));
}
