/* While capturing, stream a joins with b before its kernel that writes over b's half.
 *
 * WRONG: a joins after that kernel: the graph has no path from b's kernel to it.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaMalloc((void **)&data, 2 * MiB));

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(launch_fill(data + count, 1, count, b)); /* previous access */
    CHECK(cudaEventRecord(join, b));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(a, join, 0));
#endif
    CHECK(launch_add(data, 1, 2 * count, a)); /* access */
#ifdef WRONG
    CHECK(cudaStreamWaitEvent(a, join, 0));
#endif
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
