/* The memory that a graph left allocated is freed.
 *
 * WRONG: it is never freed.
 * Kind: leak */
#include "litmus.h"

int main(void)
{
    int *data;
    cudaStream_t a;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
#ifndef WRONG
    CHECK(cudaFreeAsync(data, a));
#endif
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return 0;
}
