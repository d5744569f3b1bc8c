/* A graph of two branches is launched 3,000 times and nobody waits; then another stream waits for
 * an event behind the last launch, and reads what the second branch wrote.
 *
 * WRONG: the event is recorded before the last launch: the branch of that one is no older one's.
 * Kind: read not ordered after a write
 * Says: too early */
#include "litmus.h"

NONBLOCKING_LITMUS(a, b, reader)
{
    size_t count = 16;
    int *data;
    cudaEvent_t fork, join, launched;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaEventCreate(&launched));
    CHECK(cudaMalloc((void **)&data, 3 * count * sizeof(int)));

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(launch_fill(data + count, 1, count, b)); /* previous access */
    CHECK(cudaEventRecord(join, b));
    CHECK(cudaStreamWaitEvent(a, join, 0));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2999; i++)
        CHECK(cudaGraphLaunch(exec, a));
#ifdef WRONG
    CHECK(cudaEventRecord(launched, a));
    CHECK(cudaGraphLaunch(exec, a));
#else
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaEventRecord(launched, a));
#endif
    CHECK(cudaStreamWaitEvent(reader, launched, 0));
    CHECK(cudaMemcpyAsync(data + 2 * count, data + count, count * sizeof(int), /* access */
                          cudaMemcpyDeviceToDevice, reader));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
