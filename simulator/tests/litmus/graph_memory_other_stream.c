/* Stream b waits for the launch before it writes the memory that the graph left allocated.
 *
 * WRONG: b does not wait: no edge from the graph's write to b's.
 * Kind: unordered writes
 * Also: free before allocation */
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
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
#ifndef WRONG
    CHECK(cudaEventRecord(done, a));
    CHECK(cudaStreamWaitEvent(b, done, 0));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
