/* A graph in a non-blocking stream forks into two branches. The legacy stream has no edge to
 * either: to wait for it, or to query it, must not wait for a branch of the graph.
 * Prints: cudaSuccess cudaErrorNotReady */
#include "litmus.h"

NONBLOCKING_LITMUS(s, t)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    volatile int *gate = gate_create();
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaMalloc((void **)&data, 64 * MiB));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(launch_fill(data, 1, count, s));
    CHECK(cudaEventRecord(fork, s));
    CHECK(launch_add(data, 1, count / 2, s));
    CHECK(cudaStreamWaitEvent(t, fork, 0));
    CHECK(launch_hold(gate, t));
    CHECK(cudaEventRecord(join, t));
    CHECK(cudaStreamWaitEvent(s, join, 0));
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, s));
    printf("%s ", cudaGetErrorName(cudaStreamQuery(cudaStreamLegacy)));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    printf("%s\n", cudaGetErrorName(cudaStreamQuery(s)));
    gate_open(gate);
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
