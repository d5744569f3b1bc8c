/* An executable graph is destroyed while it runs. */
#include "litmus.h"

LITMUS(a)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMalloc((void **)&data, 64 * MiB));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(launch_add(data, 1, count, a));
    CHECK(cudaFree(data));
}
