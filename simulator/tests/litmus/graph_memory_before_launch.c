/* The memory that a graph allocates is written after the launch, in the same stream.
 *
 * WRONG: it is written before the graph is launched, when nothing is allocated there.
 * Kind: use of memory that is not allocated */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
#ifndef WRONG
    CHECK(cudaGraphLaunch(exec, a));
#endif
    CHECK(launch_add(data, 1, count, a)); /* access */
#ifdef WRONG
    CHECK(cudaGraphLaunch(exec, a));
#endif
    (void)cudaFreeAsync(data, a);
    (void)cudaStreamSynchronize(a);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
