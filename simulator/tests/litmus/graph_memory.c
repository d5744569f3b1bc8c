/* Memory that a graph allocates. */
#include "litmus.h"

/* Begins a capture of the stream, with an allocation. */
static int *capture_memory(cudaStream_t stream)
{
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    return pool_memory(MiB, stream);
}

/* The memory that a graph allocates is written after the launch, in the same stream.
 *
 * WRONG: it is written before the graph is launched, when nothing is allocated there.
 * Kind: use of memory that is not allocated */
LITMUS(graph_memory_before_launch, a)
{
    int *data = capture_memory(a);
    CHECK(launch_fill(data, 1, count, a));
    cudaGraphExec_t exec = end_capture(a);
    IF_RIGHT(CHECK(cudaGraphLaunch(exec, a)));
    CHECK(launch_add(data, 1, count, a)); /* access */
    IF_WRONG(CHECK(cudaGraphLaunch(exec, a)));
    (void)cudaFreeAsync(data, a);
}

/* Stream b waits for the launch before it writes the memory that the graph left allocated.
 *
 * WRONG: b does not wait: no edge from the graph's write to b's.
 * Kind: unordered writes
 * Also: free before allocation
 * Says: the cudaGraphLaunch that runs launch_fill */
LITMUS(graph_memory_other_stream, a, b)
{
    int *data = capture_memory(a);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaGraphLaunch(end_capture(a), a));
    IF_RIGHT(order(a, b));
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
    int *data = capture_memory(a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaGraphLaunch(end_capture(a), a));
    CHECK(cudaFreeAsync(data, a));          /* free */
    IF_WRONG((void)cudaFreeAsync(data, a)); /* free */
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
    CHECK(cudaGraphLaunch(end_capture(a), a));
    IF_RIGHT(CHECK(cudaFreeAsync(data, a)));
}

/* Stream a waits for b before it launches a graph with cudaGraphInstantiateFlagAutoFreeOnLaunch
 * again.
 *
 * WRONG: a does not wait: no edge from b's access to the second launch, which frees the memory.
 * Kind: free before the use ends */
LITMUS(auto_free, a, b)
{
    int *data = capture_memory(a);
    cudaGraphExec_t exec = instantiate(captured(a), cudaGraphInstantiateFlagAutoFreeOnLaunch);
    CHECK(cudaGraphLaunch(exec, a));
    order(a, b);
    CHECK(launch_fill(data, 1, count, b)); /* access */
    IF_RIGHT(order(b, a));
    CHECK(cudaGraphLaunch(exec, a)); /* free */
    CHECK(cudaFreeAsync(data, a));
}

/* A branch of a graph forks after the allocation that it uses.
 *
 * WRONG: it forks before.
 * Kind: use before allocation */
LITMUS(graph_memory_of_other_branch, a, b)
{
    int *data;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    IF_WRONG(order(a, b));
    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    IF_RIGHT(order(a, b));
    CHECK(launch_fill(data, 1, count, b)); /* access */
    order(b, a);
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaGraphLaunch(end_capture(a), a));
}

/* A graph frees its memory after the branch that uses it has joined.
 *
 * WRONG: the branch joins after the free.
 * Kind: free before the use ends */
LITMUS(graph_memory_freed_early, a, b)
{
    int *data = capture_memory(a);
    order(a, b);
    CHECK(launch_fill(data, 1, count, b)); /* access */
    IF_RIGHT(order(b, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
    IF_WRONG(order(b, a));
    CHECK(cudaGraphLaunch(end_capture(a), a));
}

/* A graph uses its memory before it frees it.
 *
 * WRONG: it uses the memory after the free.
 * Kind: use after free */
LITMUS(graph_memory_used_after_free, a)
{
    int *data = capture_memory(a);
    IF_WRONG(CHECK(cudaFreeAsync(data, a))); /* free */
    CHECK(launch_fill(data, 1, count, a));   /* access */
    IF_RIGHT(CHECK(cudaFreeAsync(data, a)));
    CHECK(cudaGraphLaunch(end_capture(a), a));
}

/* A graph's second allocation has the address of the first, which a branch uses before its free.
 *
 * WRONG: the branch uses the first one's address later, and does not come after the second
 * allocation.
 * Kind: use before allocation
 * Also: unordered writes
 * Says: its pointer is stale */
LITMUS(graph_memory_stale, a, b)
{
    int *second;
    int *first = capture_memory(a);
    order(a, b);
    IF_RIGHT(CHECK(launch_fill(first, 1, count, b)));
    order(b, a);
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaMallocAsync((void **)&second, MiB, a)); /* allocation */
    IF_WRONG(CHECK(launch_fill(first, 1, count, b))); /* access */
    CHECK(launch_fill(second, 2, count, a));
    order(b, a);
    CHECK(cudaFreeAsync(second, a));
    CHECK(cudaGraphLaunch(end_capture(a), a));
}

/* A node writes all of its graph's memory.
 *
 * WRONG: it writes an int more.
 * Kind: access outside the allocation */
LITMUS(graph_memory_outside, a)
{
    int *data = capture_memory(a);
    CHECK(launch_fill(data, 1, IF_WRONG_ELSE(count + 1, count), a)); /* access */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaGraphLaunch(end_capture(a), a));
}

/* The memory that a graph allocates is used after the launch, and then freed.
 *
 * WRONG: the graph has freed it.
 * Kind: use after free
 * Says: cudaFreeAsync (graph launch 1 in stream 1) has freed */
LITMUS(graph_memory_after_launch, a)
{
    int *data = capture_memory(a);
    CHECK(launch_fill(data, 1, count, a));
    IF_WRONG(CHECK(cudaFreeAsync(data, a))); /* free */
    CHECK(cudaGraphLaunch(end_capture(a), a));
    CHECK(launch_add(data, 1, count, a)); /* access */
    IF_RIGHT(CHECK(cudaFreeAsync(data, a)));
}

/* Stream b waits for the launch before it frees the memory that the graph left allocated.
 *
 * WRONG: b does not wait: no edge from the graph's write to b's free.
 * Kind: free before the use ends */
LITMUS(graph_memory_freed_unordered, a, b)
{
    int *data = capture_memory(a);
    CHECK(launch_fill(data, 1, count, a)); /* access */
    CHECK(cudaGraphLaunch(end_capture(a), a));
    IF_RIGHT(order(a, b));
    CHECK(cudaFreeAsync(data, b)); /* free */
}

/* A graph that was built by hand frees its memory after the allocation.
 *
 * WRONG: the edge leads from the free to the allocation.
 * Kind: free before allocation
 * Says: cudaGraphAddMemFreeNode (graph launch 1 in stream 1) frees */
LITMUS(graph_memory_freed_first, a)
{
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t allocated, freed;
    struct cudaMemAllocNodeParams p = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = 0}},
        .bytesize = MiB};
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, NULL, 0, &p)); /* allocation */
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, NULL, 0, p.dptr));  /* free */
    IF_WRONG(CHECK(cudaGraphAddDependencies(graph, &freed, &allocated, NULL, 1)));
    IF_RIGHT(CHECK(cudaGraphAddDependencies(graph, &allocated, &freed, NULL, 1)));
    CHECK(cudaGraphLaunch(instantiate(graph, 0), a));
}
