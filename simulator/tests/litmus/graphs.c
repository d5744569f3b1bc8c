/* Captured graphs and graphs built by hand: the edges inside, and around a launch. */
#include "litmus.h"

/* While capturing, stream b forks from a after a's kernel.
 *
 * WRONG: b forks before a's kernel: the graph has no path from the one kernel to the other.
 * Kind: unordered writes
 * Says: record an event after launch_fill (simulator/tests/litmus/graphs.c: */
LITMUS(capture_fork, a, b)
{
    cudaEvent_t fork = event_new();
    int *data = device_memory(MiB);

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    IF_WRONG(CHECK(cudaEventRecord(fork, a)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecord(fork, a)));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
    order(b, a);
    CHECK(cudaGraphLaunch(end_capture(a), a));
}

/* While capturing, stream a joins with b before its kernel that writes over b's half.
 *
 * WRONG: a joins after that kernel: the graph has no path from b's kernel to it.
 * Kind: unordered writes */
LITMUS(graph_join, a, b)
{
    int *data = device_memory(2 * MiB);

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    cudaEvent_t fork = event_after(a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(launch_fill(data + count, 1, count, b)); /* previous access */
    cudaEvent_t join = event_after(b);
    IF_RIGHT(CHECK(cudaStreamWaitEvent(a, join, 0)));
    CHECK(launch_add(data, 1, 2 * count, a)); /* access */
    IF_WRONG(CHECK(cudaStreamWaitEvent(a, join, 0)));
    CHECK(cudaGraphLaunch(end_capture(a), a));
}

/* Two nodes of a graph write the same bytes, and an edge orders them.
 *
 * WRONG: the second node has no dependency: the edge is missing.
 * Kind: unordered writes
 * Says: let the node of */
LITMUS(graph_built_by_hand, a)
{
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t first, second;
    int *data = device_memory(MiB);
    struct cudaMemsetParams set = {
        .dst = data, .value = 1, .elementSize = 4, .width = MiB / 4, .height = 1};
    CHECK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &set));            /* previous access */
    IF_WRONG(CHECK(cudaGraphAddMemsetNode(&second, graph, NULL, 0, &set))); /* access */
    IF_RIGHT(CHECK(cudaGraphAddMemsetNode(&second, graph, &first, 1, &set)));
    CHECK(cudaGraphLaunch(instantiate(graph, 0), a));
}

/* A captured graph is the child of two nodes, of which the second depends on the first.
 *
 * WRONG: it depends on nothing: the edge is missing.
 * Kind: unordered writes
 * Says: Instead of a node in a child graph or a body, take the node that contains it, */
LITMUS(graph_child, a)
{
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t first, second;
    int *data = device_memory(MiB);
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_fill(data, 1, count, a)); /* access */
    cudaGraph_t inside = captured(a);
    CHECK(cudaGraphAddChildGraphNode(&first, graph, NULL, 0, inside));
    IF_WRONG(CHECK(cudaGraphAddChildGraphNode(&second, graph, NULL, 0, inside)));
    IF_RIGHT(CHECK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, inside)));
    CHECK(cudaGraphLaunch(instantiate(graph, 0), a));
}

/* One executable graph is launched in two streams: the second launch waits for the first.
 *
 * WRONG: two executable graphs of the same graph are launched, which nothing orders: no edge from
 * the one's write to the other's.
 * Kind: unordered writes */
LITMUS(graph_twice, a, b)
{
    int *data = device_memory(MiB);
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_add(data, 1, count, a)); /* previous access */
    cudaGraph_t graph = captured(a);
    cudaGraphExec_t first = instantiate(graph, 0), second = instantiate(graph, 0);
    CHECK(cudaGraphLaunch(first, a));
    CHECK(cudaGraphLaunch(IF_WRONG_ELSE(second, first), b));
}

/* A graph of two branches is launched 3,000 times and nobody waits; then another stream waits for
 * an event behind the last launch, and reads what the second branch wrote.
 *
 * WRONG: the event is recorded before the last launch: the branch of that one is no older one's.
 * Kind: read not ordered after a write
 * Says: too early */
NONBLOCKING_LITMUS(graph_relaunched, a, b, reader)
{
    size_t count = 16;
    cudaEvent_t launched = event_new();
    int *data = device_memory(3 * count * sizeof(int));

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    cudaEvent_t fork = event_after(a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(launch_fill(data + count, 1, count, b)); /* previous access */
    order(b, a);
    cudaGraphExec_t exec = end_capture(a);
    for (int i = 0; i < 2999; i++)
        CHECK(cudaGraphLaunch(exec, a));
    IF_WRONG(CHECK(cudaEventRecord(launched, a)));
    IF_WRONG(CHECK(cudaGraphLaunch(exec, a)));
    IF_RIGHT(CHECK(cudaGraphLaunch(exec, a)));
    IF_RIGHT(CHECK(cudaEventRecord(launched, a)));
    CHECK(cudaStreamWaitEvent(reader, launched, 0));
    CHECK(cudaMemcpyAsync(data + 2 * count, data + count, count * sizeof(int), /* access */
                          cudaMemcpyDeviceToDevice, reader));
}

/* A host node after the graph's kernel sets the flag for which the host waits.
 *
 * WRONG: the host node comes before the kernel, so the flag orders nothing: no edge from the kernel
 * to b's write.
 * Kind: unordered writes */
LITMUS(graph_host_node, a, b)
{
    int *data = device_memory(MiB);
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    IF_WRONG(CHECK(cudaLaunchHostFunc(a, set_flag, NULL)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaLaunchHostFunc(a, set_flag, NULL)));
    CHECK(cudaGraphLaunch(end_capture(a), a));
    query_until_set(b);
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* An executable graph is destroyed while it runs. */
LITMUS(exec_destroyed, a)
{
    size_t count = 64 * MiB / sizeof(int);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *data = device_memory(64 * MiB);
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(launch_add(data, 1, count, a));
}

/* The launch of a graph for whose memory the device has too little queues nothing in the legacy
 * stream: blocking stream b does not wait for a, which is held, and the host can wait for b before
 * it opens the gate.
 *
 * WRONG: b adds to what a has filled, as if the failed launch ordered the two.
 * Kind: unordered writes */
LITMUS(failed_graph_launch, a, b)
{
    size_t count = MiB / sizeof(int), free_bytes, total_bytes;
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t node;
    struct cudaMemAllocNodeParams large = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = 0}}};
    volatile int *gate = gate_new();
    int *data = device_memory(MiB), *other = device_memory(MiB);
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    large.bytesize = total_bytes;
    CHECK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &large));
    CHECK(cudaGraphAddMemFreeNode(&node, graph, &node, 1, large.dptr));
    cudaGraphExec_t exec = instantiate(graph, 0);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_hold(gate, a));
    if (cudaGraphLaunch(exec, cudaStreamLegacy) != cudaErrorMemoryAllocation)
        exit(1);
    CHECK(launch_add(IF_WRONG_ELSE(data, other), 1, count, b)); /* access */
    CHECK(cudaStreamSynchronize(b));
    gate_open(gate);
}

/* A graph is launched before the memory that its kernel writes is freed.
 *
 * WRONG: it is launched after the free.
 * Kind: use after free
 * Says: after the last use, which is the cudaGraphLaunch that runs launch_fill */
LITMUS(graph_of_freed_memory, a)
{
    int *data = pool_memory(MiB, a);
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_fill(data, 1, count, a)); /* access */
    cudaGraphExec_t exec = end_capture(a);
    IF_RIGHT(CHECK(cudaGraphLaunch(exec, a)));
    CHECK(cudaFreeAsync(data, a)); /* free */
    IF_WRONG(CHECK(cudaGraphLaunch(exec, a)));
}

/* A graph's copy reads an allocation, which is freed after the launch. The next allocation gets the
 * address, and is smaller.
 * Prints: cudaSuccess
 *
 * WRONG: the graph is launched when the address is the smaller allocation's. The node keeps its
 * pointer, and reads more than is there.
 * Prints: cudaErrorIllegalAddress
 * Kind: use after free */
LITMUS(graph_of_smaller_memory, a)
{
    char *to = device_memory(MiB), *from = pool_memory(1024, a);
    CHECK(cudaMemsetAsync(from, 1, 1024, a));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(to, from, 1024, cudaMemcpyDeviceToDevice, a)); /* access */
    cudaGraphExec_t exec = end_capture(a);
    IF_RIGHT(CHECK(cudaGraphLaunch(exec, a)));
    CHECK(cudaFreeAsync(from, a)); /* free */
    from = pool_memory(512, a);
    IF_WRONG((void)cudaGraphLaunch(exec, a));
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(a)));
    CHECK(cudaFreeAsync(from, a));
}

/* A graph's kernel writes an allocation that has a freed one's address.
 *
 * WRONG: it was captured to write the freed one, and is launched when another has the address.
 * Kind: use after free
 * Says: That address belongs to allocation */
LITMUS(graph_of_taken_memory, a)
{
    int *data = pool_memory(MiB, a);
    IF_RIGHT(CHECK(cudaFreeAsync(data, a)));
    IF_RIGHT(int *other = pool_memory(MiB, a));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(launch_fill(data, 1, count, a)); /* access */
    cudaGraphExec_t exec = end_capture(a);
    IF_WRONG(CHECK(cudaFreeAsync(data, a))); /* free */
    IF_WRONG(int *other = pool_memory(MiB, a));
    CHECK(launch_fill(other, 2, count, a));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaFreeAsync(other, a));
}

/* Two nodes of a graph come first. The launch is in the stream of a fill, which precedes both.
 *
 * WRONG: the launch is in another stream: no edge from the fill to the second node.
 * Kind: unordered writes */
LITMUS(graph_with_two_first_nodes, a, b)
{
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t first, second;
    int *data = device_memory(2 * MiB);
    struct cudaMemsetParams set = {.dst = data, .elementSize = 4, .width = count, .height = 1};
    CHECK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &set));
    set.dst = data + count;
    CHECK(cudaGraphAddMemsetNode(&second, graph, NULL, 0, &set)); /* access */
    cudaGraphExec_t exec = instantiate(graph, 0);
    CHECK(launch_fill(data + count, 1, count, a)); /* previous access */
    CHECK(cudaGraphLaunch(exec, IF_WRONG_ELSE(b, a)));
}
