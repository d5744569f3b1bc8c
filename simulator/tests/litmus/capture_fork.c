/* While capturing, stream b forks from a after a's kernel.
 *
 * WRONG: b forks before a's kernel: the graph has no path from the one kernel to the other.
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
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
#ifdef WRONG
    CHECK(cudaEventRecord(fork, a));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecord(fork, a));
#endif
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaEventRecord(join, b));
    CHECK(cudaStreamWaitEvent(a, join, 0));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
