/* A graph is launched before the memory that its kernel writes is freed.
 *
 * WRONG: it is launched after the free.
 * Kind: use after free */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_fill(data, 1, count, a)); /* access */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
#ifndef WRONG
    CHECK(cudaGraphLaunch(exec, a));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(cudaGraphLaunch(exec, a));
#endif
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
