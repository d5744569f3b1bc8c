/* A host node after the graph's kernel sets the flag for which the host waits.
 *
 * WRONG: the host node comes before the kernel, so the flag orders nothing: no edge from the kernel
 * to b's write.
 * Kind: unordered writes */
#include "litmus.h"

static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

LITMUS(a, b)
{
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
#ifdef WRONG
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
#endif
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    while (!atomic_load(&flag))
        (void)cudaStreamQuery(b);
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
