/* An event node after the graph's kernel records the event for which stream b waits.
 *
 * WRONG: the event node comes before the kernel: no edge from the graph's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
#ifdef WRONG
    CHECK(cudaEventRecordWithFlags(event, a, cudaEventRecordExternal));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecordWithFlags(event, a, cudaEventRecordExternal));
#endif
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
