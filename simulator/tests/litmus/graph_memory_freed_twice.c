/* The memory that a graph left allocated is freed once.
 *
 * WRONG: it is freed twice.
 * Kind: double free */
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
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    (void)cudaFreeAsync(data, a); /* free */
#endif
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
