/* A graph keeps a pointer to pinned memory, which is freed behind its launch. Then a host function
 * runs, for which the simulated device maps a stack of its own.
 *
 * WRONG: the graph is launched after both. The stack must not have got the address.
 * Kind: use after free */
#include "litmus.h"

#define BYTES (12 * MiB)

static void CUDART_CB nothing(void *unused) { (void)unused; }

LITMUS(stream)
{
    char *pinned;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMallocHost((void **)&pinned, BYTES));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemsetAsync(pinned + BYTES - 4096, 0, 4096, stream)); /* access */
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

#ifndef WRONG
    CHECK(cudaGraphLaunch(exec, stream));
#endif
    CHECK(cudaFreeHost(pinned)); /* free */
    CHECK(cudaLaunchHostFunc(stream, nothing, NULL));
    CHECK(cudaStreamSynchronize(stream));
#ifdef WRONG
    (void)cudaGraphLaunch(exec, stream);
#endif
    (void)cudaStreamSynchronize(stream);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
}
