/* Graphs and captures: what simulator/tests/facts/probe-graphs.c and probe-graph-nodes.c do not ask
 * a device, and nodes added by calls, as a capture would add them: graph_rules NAME. */
#include "expect.h"

#include "kernels.h"
#include "user_kernels.h"

static cudaStream_t s, t;
static cudaEvent_t event;
static int *pinned;

static size_t figure(enum cudaGraphMemAttributeType attribute)
{
    uint64_t value = UINT64_MAX;
    OK(cudaDeviceGetGraphMemAttribute(0, attribute, &value));
    return (size_t)(value / MiB);
}

static size_t reserved(void) { return figure(cudaGraphMemAttrReservedMemCurrent); }
static size_t used(void) { return figure(cudaGraphMemAttrUsedMemCurrent); }

static cudaGraphNode_t add_alloc(cudaGraph_t g, const cudaGraphNode_t *before, size_t bytes,
                                 void **address)
{
    struct cudaMemAllocNodeParams p;
    cudaGraphNode_t node;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = bytes;
    OK(cudaGraphAddMemAllocNode(&node, g, before, before != NULL, &p));
    *address = p.dptr;
    return node;
}

static cudaGraphNode_t add_free(cudaGraph_t g, cudaGraphNode_t before, void *address)
{
    cudaGraphNode_t node;
    OK(cudaGraphAddMemFreeNode(&node, g, &before, 1, address));
    return node;
}

static cudaGraphNode_t add_memset(cudaGraph_t g, cudaGraphNode_t before, void *address,
                                  unsigned value, unsigned element, size_t width)
{
    struct cudaMemsetParams p = {
        .dst = address, .value = value, .elementSize = element, .width = width, .height = 1};
    cudaGraphNode_t node;
    OK(cudaGraphAddMemsetNode(&node, g, &before, 1, &p));
    return node;
}

/* Allocates, sets every int, copies them to pinned memory, and frees (or not). */
static cudaGraph_t small_graph(void **address, int with_free)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&g, 0));
    node = add_alloc(g, NULL, 64 * MiB, address);
    node = add_memset(g, node, *address, 0x01020304, 4, 1024);
    OK(cudaGraphAddMemcpyNode1D(&node, g, &node, 1, pinned, *address, 4096,
                                cudaMemcpyDeviceToHost));
    if (with_free)
        add_free(g, node, *address);
    return g;
}

static void nothing_left(void)
{
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(0, reserved());
    SAME(0, used());
}

static void set_up(void)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMallocHost((void **)&pinned, MiB));
}

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

/* ---- nodes added by calls ---- */

static int calls;
static void count_call(void *argument) { calls += *(int *)argument; }

static void add_one(void *const *memory, const void *argument)
{
    const size_t *count = argument;
    for (size_t i = 0; i < *count; i++)
        ((int *)memory[0])[i]++;
}

static cudaGraphExec_t instantiate(cudaGraph_t g)
{
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    return x;
}

static void launch(cudaGraphExec_t x)
{
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
}

CASE(captured_into)
{
    cudaGraph_t g, back = NULL;
    cudaGraphNode_t first;
    int step = 1;
    struct cudaHostNodeParams p = {count_call, &step};
    calls = 0;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddHostNode(&first, g, NULL, 0, &p));
    OK(cudaStreamBeginCaptureToGraph(s, g, &first, NULL, 1, cudaStreamCaptureModeRelaxed));
    IS(cudaErrorIllegalState,
       cudaStreamBeginCaptureToGraph(t, g, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaLaunchHostFunc(s, count_call, &step));
    OK(cudaStreamEndCapture(s, &back));
    SAME(1, back == g);
    size_t edges = 0;
    OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &edges));
    SAME(1, edges);
    /* Again, without an address for the graph, which remains the program's. */
    OK(cudaStreamBeginCaptureToGraph(s, g, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaLaunchHostFunc(s, count_call, &step));
    OK(cudaStreamEndCapture(s, NULL));
    cudaGraphExec_t x = instantiate(g);
    launch(x);
    SAME(3, calls);
}

/* Each of these prints a sentence. */
CASE(refused)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    int from[8][8], *device;
    OK(cudaMalloc((void **)&device, sizeof from));
    OK(cudaGraphCreate(&g, 0));
    struct cudaMemcpy3DParms slices = {.srcPtr = {from, 32, 8, 4},
                                       .dstPtr = {device, 32, 8, 2},
                                       .extent = {32, 2, 2},
                                       .kind = cudaMemcpyHostToDevice};
    IS(cudaErrorNotSupported, cudaGraphAddMemcpyNode(&node, g, NULL, 0, &slices));
    IS(cudaErrorInvalidValue,
       sim_graph_add_kernel_node(&node, g, NULL, 0, NULL, add_one, NULL, 0, NULL, 0, 0));
    OK(cudaFree(device));
}

/* Two kernels of one graph write the same bytes. In "two_kernels incorrect" the edge between them
 * is missing. */
static int two_kernels(int is_correct)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    size_t count = 16;
    int *data;
    OK(cudaMalloc((void **)&data, 64));
    OK(cudaMemset(data, 0, 64));
    OK(cudaStreamCreate(&s));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphCreate(&g, 0));
    struct sim_range range = sim_read_write(data, 64);
    OK(sim_graph_add_kernel_node(&node, g, NULL, 0, "first", add_one, &count, sizeof count, &range,
                                 1, 0));
    OK(sim_graph_add_kernel_node(&node, g, &node, (size_t)is_correct, "second", add_one, &count,
                                 sizeof count, &range, 1, 0));
    launch(instantiate(g));
    OK(cudaFree(data));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return two_kernels(!strcmp(argv[2], "correct"));
    set_up();
    int status = run_named(argc, argv);
    OK(cudaFreeHost(pinned));
    return status;
}
