/* Graphs with memory nodes: building, launching, and what is rejected. One function for each
 * rule. */
#include "graphs.h"

static void built_by_hand(void)
{
    void *a;
    cudaGraph_t g = small_graph(&a, 1);
    cudaGraphExec_t x;
    size_t count = 0;
    cudaGraphNode_t nodes[4];
    enum cudaGraphNodeType type;
    OK(cudaGraphGetNodes(g, NULL, &count));
    SAME(4, count);
    OK(cudaGraphGetNodes(g, nodes, &count));
    OK(cudaGraphNodeGetType(nodes[0], &type));
    SAME(cudaGraphNodeTypeMemAlloc, type);
    OK(cudaGraphNodeGetType(nodes[3], &type));
    SAME(cudaGraphNodeTypeMemFree, type);
    struct cudaMemAllocNodeParams p;
    void *freed = NULL;
    OK(cudaGraphMemAllocNodeGetParams(nodes[0], &p));
    SAME(64 * MiB, p.bytesize);
    SAME(1, p.dptr == a);
    OK(cudaGraphMemFreeNodeGetParams(nodes[3], &freed));
    SAME(1, freed == a);
    IS(cudaErrorInvalidValue, cudaGraphMemFreeNodeGetParams(nodes[0], &freed));
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 3; i++) {
        memset(pinned, 0, 4096);
        OK(cudaGraphLaunch(x, s));
        OK(cudaStreamSynchronize(s));
        SAME(0x01020304, pinned[0]);
        SAME(0x01020304, pinned[1023]);
        SAME(64, reserved());
    }
    OK(cudaGraphDestroy(g)); /* the executable graph lives on */
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(x));
    SAME(64, used()); /* until a trim */
    SAME(64, reserved());
    nothing_left();
}

static void refused(void)
{
    void *a, *plain, *b;
    cudaGraph_t g = small_graph(&a, 1), other;
    cudaGraphExec_t x, y;
    cudaGraphNode_t node, nodes[4];
    size_t count = 4;
    OK(cudaMalloc(&plain, 64));
    OK(cudaGraphGetNodes(g, nodes, &count));
    OK(cudaGraphCreate(&other, 0));
    /* Twice in its graph. */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, &nodes[3], 1, a));
    /* In another graph as well. */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, other, NULL, 0, a));
    /* Not of an allocation node. */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, plain));
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, (char *)a + 512));
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, &a));
    /* Another graph's node. */
    IS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, other, &nodes[0], 1));
    /* The edge exists. */
    IS(cudaErrorInvalidValue, cudaGraphAddDependencies(g, &nodes[0], &nodes[1], NULL, 1));
    struct cudaMemsetParams past = {
        .dst = (char *)a + 32 * MiB, .elementSize = 1, .width = 33 * MiB, .height = 1};
    IS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, g, &nodes[0], 1, &past));
    /* 4 bytes, counted in 64 bits. */
    past = (struct cudaMemsetParams){
        .dst = a, .elementSize = 4, .width = SIZE_MAX / 4 + 2, .height = 1};
    IS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, g, &nodes[0], 1, &past));
    past = (struct cudaMemsetParams){.dst = a,
                                     .elementSize = 1,
                                     .width = (size_t)1 << 40,
                                     .pitch = (size_t)1 << 40,
                                     .height = (size_t)1 << 24};
    IS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, g, &nodes[0], 1, &past));
    OK(cudaGraphInstantiate(&x, g, 0));
    /* One executable graph at a time. */
    IS(cudaErrorNotSupported, cudaGraphInstantiate(&y, g, 0));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&y, g, 0));
    OK(cudaGraphExecDestroy(y));
    /* Before any launch there is no memory. */
    IS(cudaErrorInvalidValue, cudaMemsetAsync(a, 0, 4, s));
    IS(cudaErrorInvalidValue, cudaFreeAsync(a, s));
    add_alloc(other, NULL, 64, &b);
    OK(cudaGraphAddMemFreeNode(&node, other, NULL, 0, b));
    /* A free that is not ordered after its allocation. */
    OK(cudaGraphInstantiate(&y, other, 0));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEmptyNode(&nodes[0], g, NULL, 0));
    OK(cudaGraphAddEmptyNode(&nodes[1], g, &nodes[0], 1));
    OK(cudaGraphAddDependencies(g, &nodes[1], &nodes[0], NULL, 1));
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&y, g, 0)); /* a cycle */
    OK(cudaGraphDestroy(g));
    IS(cudaErrorInvalidValue, cudaGraphCreate(&g, 1));
    IS(cudaErrorInvalidValue, cudaGraphLaunch(NULL, s));
    OK(cudaFree(plain));
}

/* A block that its graph does not free. */
static void unfreed(void)
{
    void *a;
    cudaGraph_t g = small_graph(&a, 0);
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    IS(cudaErrorInvalidValue, cudaGraphLaunch(x, s)); /* its block is not freed */
    OK(launch_add(a, 1, 1024, s));                    /* usable after the launch */
    OK(cudaMemcpyAsync(pinned, a, 4096, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(0x01020305, pinned[1000]);
    OK(cudaDeviceGraphMemTrim(0));
    /* A live block keeps its memory. */
    SAME(64, reserved());
    OK(cudaFreeAsync(a, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    SAME(0x01020304, pinned[1000]);
    OK(cudaFree(a));
    IS(cudaErrorInvalidValue, cudaFree(a));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(x, s));
    SAME(64, reserved());
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g)); /* frees nothing */
    OK(launch_add(a, 1, 1024, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeAsync(a, s));
    nothing_left();
}

static void freed_by_another_graph(void)
{
    void *a;
    cudaGraph_t g = small_graph(&a, 0), other;
    cudaGraphExec_t x, y;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddMemFreeNode(&node, other, NULL, 0, a));
    /* No longer in its own graph. */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, a));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphInstantiate(&y, other, 0));
    IS(cudaErrorInvalidValue, cudaGraphLaunch(y, s)); /* not allocated yet */
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphLaunch(x, s));
        OK(cudaGraphLaunch(y, s));
    }
    IS(cudaErrorInvalidValue, cudaFreeAsync(a, s)); /* freed already */
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(other));
    nothing_left();
}

/* Branches of a captured graph run, join, and are ordered with the stream of the launch. */
static void branches(void)
{
    int *data;
    cudaGraph_t g;
    cudaGraphExec_t x;
    size_t edges = 0;
    OK(cudaMalloc((void **)&data, 3 * MiB));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(launch_fill(data, 1, 3 * MiB / 4, s));
    OK(cudaEventRecord(event, s));
    OK(cudaStreamWaitEvent(t, event, 0));
    OK(launch_add(data, 10, MiB / 4, s));
    OK(launch_add(data + MiB / 4, 20, MiB / 4, t));
    OK(cudaEventRecord(event, t));
    OK(cudaStreamWaitEvent(s, event, 0));
    OK(cudaMemcpyAsync(pinned, data, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaMemcpyAsync(pinned + 1, data + MiB / 4, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &edges));
    SAME(5, edges);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphDestroy(g));
    for (int i = 0; i < 3; i++) {
        OK(cudaMemsetAsync(data, 0, 3 * MiB, t)); /* t before, s after the launch */
        OK(cudaGraphLaunch(x, t));
        OK(cudaMemcpyAsync(pinned + 2, data + MiB / 2, 4, cudaMemcpyDeviceToHost, t));
        OK(cudaStreamSynchronize(t));
        SAME(11, pinned[0]);
        SAME(21, pinned[1]);
        SAME(1, pinned[2]);
    }
    OK(cudaGraphExecDestroy(x));
    OK(cudaFree(data));
}

static void elements_of_two_bytes(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t node;
    void *a;
    OK(cudaGraphCreate(&g, 0));
    node = add_alloc(g, NULL, MiB, &a);
    node = add_memset(g, node, a, 0x0102, 2, MiB / 2);
    OK(cudaGraphAddMemcpyNode1D(&node, g, &node, 1, pinned, a, 4, cudaMemcpyDefault));
    add_free(g, node, a);
    OK(cudaGraphInstantiateWithFlags(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    SAME(0x01020102, *pinned);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* Destroyed while it runs: its work continues to the end. */
static void destroyed_early(void)
{
    void *a;
    cudaGraph_t g = small_graph(&a, 1);
    cudaGraphExec_t x;
    pinned[2048] = 0;
    pinned[5] = 0;
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(launch_hold(pinned + 2048, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaDeviceGraphMemTrim(0));
    pinned[2048] = 1;
    OK(cudaStreamSynchronize(s));
    SAME(0x01020304, pinned[5]);
    nothing_left();
}

int main(void)
{
    set_up();
    built_by_hand();
    refused();
    unfreed();
    freed_by_another_graph();
    branches();
    elements_of_two_bytes();
    destroyed_early();
    return tear_down();
}
