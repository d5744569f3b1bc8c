/* Stream b frees the memory that a graph left allocated. The next launch, in stream a, allocates it
 * again at the same address, and waits for the free.
 *
 * WRONG: the launch does not wait: no edge from b's free to the graph's allocation.
 * Kind: allocation before the free */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t launched, freed;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaEventCreate(&launched));
    CHECK(cudaEventCreate(&freed));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaEventRecord(launched, a));
    CHECK(cudaStreamWaitEvent(b, launched, 0));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b)); /* free */
    CHECK(cudaEventRecord(freed, b));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(a, freed, 0));
#endif
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
