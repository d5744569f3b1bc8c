/* Memory that a graph allocates. */
#include "litmus.h"

/* The memory that a graph allocates is written after the launch, in the same stream.
 *
 * WRONG: it is written before the graph is launched, when nothing is allocated there.
 * Kind: use of memory that is not allocated */
LITMUS(graph_memory_before_launch, a)
{
    int *data;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    cudaGraphExec_t exec = end_capture(a);
    IF_RIGHT(CHECK(cudaGraphLaunch(exec, a)));
    CHECK(launch_add(data, 1, count, a)); /* access */
    IF_WRONG(CHECK(cudaGraphLaunch(exec, a)));
    (void)cudaFreeAsync(data, a);
    (void)cudaStreamSynchronize(a);
}

/* Stream b waits for the launch before it writes the memory that the graph left allocated.
 *
 * WRONG: b does not wait: no edge from the graph's write to b's.
 * Kind: unordered writes
 * Also: free before allocation */
LITMUS(graph_memory_other_stream, a, b)
{
    int *data;
    IF_RIGHT(cudaEvent_t done = event_new());
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    cudaGraphExec_t exec = end_capture(a);
    CHECK(cudaGraphLaunch(exec, a));
    IF_RIGHT(CHECK(cudaEventRecord(done, a)));
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, done, 0)));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
}

/* Stream b frees the memory that a graph left allocated. The next launch, in stream a, allocates it
 * again at the same address, and waits for the free.
 *
 * WRONG: the launch does not wait: no edge from b's free to the graph's allocation.
 * Kind: allocation before the free */
LITMUS(graph_memory_freed_elsewhere, a, b)
{
    int *data;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    CHECK(launch_fill(data, 1, count, a));
    cudaGraphExec_t exec = end_capture(a);

    CHECK(cudaGraphLaunch(exec, a));
    order(a, b);
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b)); /* free */
    IF_RIGHT(order(b, a));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaFreeAsync(data, a));
}

/* The memory that a graph left allocated is freed once.
 *
 * WRONG: it is freed twice.
 * Kind: double free */
LITMUS(graph_memory_freed_twice, a)
{
    int *data;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    cudaGraphExec_t exec = end_capture(a);
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaFreeAsync(data, a));          /* free */
    IF_WRONG((void)cudaFreeAsync(data, a)); /* free */
    CHECK(cudaStreamSynchronize(a));
}

/* The memory that a graph left allocated is freed.
 *
 * WRONG: it is never freed.
 * Kind: leak */
LITMUS(graph_memory_left, a)
{
    int *data;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    cudaGraphExec_t exec = end_capture(a);
    CHECK(cudaGraphLaunch(exec, a));
    IF_RIGHT(CHECK(cudaFreeAsync(data, a)));
    CHECK(cudaStreamSynchronize(a));
}

/* Stream a waits for b before it launches a graph with cudaGraphInstantiateFlagAutoFreeOnLaunch
 * again.
 *
 * WRONG: a does not wait: no edge from b's access to the second launch, which frees the memory.
 * Kind: free before the use ends */
LITMUS(auto_free, a, b)
{
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK(cudaGraphLaunch(exec, a));
    order(a, b);
    CHECK(launch_fill(data, 1, count, b)); /* access */
    IF_RIGHT(order(b, a));
    CHECK(cudaGraphLaunch(exec, a)); /* free */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
