/* Stream a waits for b before it launches a graph with cudaGraphInstantiateFlagAutoFreeOnLaunch
 * again.
 *
 * WRONG: a does not wait: no edge from b's access to the second launch, which frees the memory.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t done;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaEventCreate(&done));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaEventRecord(done, a));
    CHECK(cudaStreamWaitEvent(b, done, 0));
    CHECK(launch_fill(data, 1, count, b)); /* access */
#ifndef WRONG
    CHECK(cudaEventRecord(done, b));
    CHECK(cudaStreamWaitEvent(a, done, 0));
#endif
    CHECK(cudaGraphLaunch(exec, a)); /* free */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
