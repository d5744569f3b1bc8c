/* Graphs and captures: what simulator/tests/facts/probe-graphs.c and probe-graph-nodes.c do not ask
 * a device: graph_rules NAME. */
#include "graphs.h"

/* Memset nodes of more bytes than 64 bits can count. */
CASE(sizes_that_wrap)
{
    void *a;
    cudaGraph_t g = small_graph(&a, 1);
    cudaGraphNode_t node, nodes[4];
    size_t count = 4;
    OK(cudaGraphGetNodes(g, nodes, &count));
    struct cudaMemsetParams wraps = {
        .dst = a, .elementSize = 4, .width = SIZE_MAX / 4 + 2, .height = 1};
    IS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, g, &nodes[0], 1, &wraps));
    wraps = (struct cudaMemsetParams){.dst = a,
                                      .elementSize = 1,
                                      .width = (size_t)1 << 40,
                                      .pitch = (size_t)1 << 40,
                                      .height = (size_t)1 << 24};
    IS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, g, &nodes[0], 1, &wraps));
}

CASE(freed_by_another_graph)
{
    void *a, *freed = NULL;
    cudaGraph_t g = small_graph(&a, 0), other;
    cudaGraphExec_t x, y;
    cudaGraphNode_t node, nodes[3];
    size_t count = 3;
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddMemFreeNode(&node, other, NULL, 0, a));
    OK(cudaGraphMemFreeNodeGetParams(node, &freed));
    SAME(1, freed == a);
    OK(cudaGraphGetNodes(g, nodes, &count));
    IS(cudaErrorInvalidValue, cudaGraphMemFreeNodeGetParams(nodes[0], &freed));
    /* No longer in its own graph. */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, a));
    OK(cudaGraphInstantiateWithFlags(&x, g, 0));
    OK(cudaGraphInstantiate(&y, other, 0));
    IS(cudaErrorInvalidValue, cudaGraphLaunch(y, s)); /* not allocated yet */
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphLaunch(x, s));
        OK(cudaGraphLaunch(y, s));
    }
    IS(cudaErrorInvalidValue, cudaFreeAsync(a, s)); /* freed already */
    OK(cudaStreamSynchronize(s));
    SAME(0x01020304, pinned[3]);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(other));
    nothing_left();
}

/* With SIM_MEMORY=64M. */
CASE(no_memory)
{
    void *a, *half;
    cudaGraph_t g = small_graph(&a, 1);
    cudaGraphExec_t x;
    OK(cudaMalloc(&half, 32 * MiB));
    OK(cudaGraphInstantiate(&x, g, 0));
    IS(cudaErrorMemoryAllocation, cudaGraphLaunch(x, s));
    SAME(0, reserved());
    IS(cudaErrorMemoryAllocation, cudaGraphUpload(x, s));
    OK(cudaFree(half));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    SAME(0x01020304, pinned[3]);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    nothing_left();
}

/* With SIM_MEMORY=96M. A launch of a graph fails while an earlier launch of it is pending: that one
 * keeps its memory. */
CASE(no_memory_for_another)
{
    void *a;
    volatile int *gate = pinned + 8192;
    cudaGraph_t g[2] = {small_graph(&a, 1), small_graph(&a, 1)};
    cudaGraphExec_t x[2];
    for (int i = 0; i < 2; i++)
        OK(cudaGraphInstantiate(&x[i], g[i], 0));
    *gate = 0;
    OK(launch_hold(gate, s));
    /* The second takes over what the first has. */
    for (int i = 0; i < 2; i++)
        OK(cudaGraphLaunch(x[i], s));
    SAME(64, reserved());
    /* In another stream it may not: one segment is free, and two are needed. */
    IS(cudaErrorMemoryAllocation, cudaGraphLaunch(x[0], t));
    SAME(64, reserved());
    *gate = 1;
    OK(cudaDeviceSynchronize());
    SAME(0x01020304, pinned[3]);
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphExecDestroy(x[i]));
        OK(cudaGraphDestroy(g[i]));
    }
    nothing_left();
}

/* A graph that allocates and frees this much, ready to be launched. */
static cudaGraphExec_t captured_with(size_t bytes)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    void *p;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&p, bytes, s));
    OK(cudaMemsetAsync(p, 0, bytes, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    return x;
}

/* With SIM_MEMORY=128M. A launch that fails gives back what it took before, even segments that
 * other work of its stream still uses. */
CASE(no_memory_for_a_larger_one)
{
    volatile int *gate = pinned + 8192;
    cudaGraphExec_t small = captured_with(MiB), large = captured_with(200 * MiB);
    *gate = 0;
    OK(launch_hold(gate, s));
    OK(cudaGraphLaunch(small, s));
    IS(cudaErrorMemoryAllocation, cudaGraphLaunch(large, s));
    OK(cudaGraphExecDestroy(large));
    SAME(32, reserved());
    *gate = 1;
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(small));
    nothing_left();
}

static void nothing(void *unused) { (void)unused; }

/* What a query tells of a capture, also when it is asked for less. */
CASE(captured)
{
    enum cudaStreamCaptureStatus now;
    enum cudaGraphNodeType type;
    unsigned long long id = 0, next = 0;
    cudaGraph_t into = NULL, graph;
    const cudaGraphNode_t *tips = NULL;
    const cudaGraphEdgeData *data = NULL;
    cudaGraphNode_t first;
    size_t count = 0;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaLaunchHostFunc(s, nothing, NULL));
    OK(cudaStreamGetCaptureInfo(s, &now, &id, &into, &tips, &data, &count));
    SAME(0, data[0].from_port | data[0].to_port | data[0].type);
    SAME(cudaStreamCaptureStatusActive, now);
    SAME(1, count);
    first = tips[0];
    OK(cudaGraphNodeGetType(first, &type));
    SAME(cudaGraphNodeTypeHost, type);
    IS(cudaErrorInvalidValue, cudaGraphDestroy(into));
    OK(cudaLaunchHostFunc(s, nothing, NULL));
    OK(cudaStreamUpdateCaptureDependencies(s, &first, NULL, 1, cudaStreamSetCaptureDependencies));
    OK(cudaStreamGetCaptureInfo(s, &now, NULL, NULL, &tips, NULL, &count));
    SAME(1, tips[0] == first);
    IS(cudaErrorInvalidValue, cudaThreadExchangeStreamCaptureMode(NULL));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaStreamGetCaptureInfo(s, &now, &next, NULL, NULL, NULL, NULL));
    SAME(1, next != id);
    /* A capture checks no kernel's arguments, so a hold without a gate is a node, too. */
    OK(launch_hold(NULL, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &count));
    SAME(1, count);
}

int main(int argc, char **argv)
{
    set_up();
    int status = run_named(argc, argv);
    OK(cudaFreeHost(pinned));
    return status;
}
