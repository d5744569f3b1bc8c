/* Graphs and captures: what simulator/tests/facts/probe-graphs.c and probe-graph-nodes.c do not ask
 * a device, changes to graphs, and nodes added by calls, as a capture would add them: graph_cases
 * NAME. With "incorrect" after it, an edge between two nodes is missing. */
#include "expect.h"

#include <stdbool.h>

#include "kernels.h"
#include "user_kernels.h"
#include "workbook.h"

static cudaStream_t s, apart;
static cudaGraph_t g;
static int *data, *pinned; /* a MiB each */
static bool is_correct;

static void begin(void)
{
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&apart));
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaMallocHost((void **)&pinned, MiB));
    OK(cudaGraphCreate(&g, 0));
}

static void end(void)
{
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(data));
    OK(cudaFreeHost(pinned));
}

static cudaGraphExec_t instantiated(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static cudaGraphExec_t launched(cudaGraph_t graph)
{
    cudaGraphExec_t exec = instantiated(graph);
    OK(cudaGraphLaunch(exec, s));
    return exec;
}

/* ---- lists ---- */

/* A diamond: node 0, then 1 and 2, then 3. */
static void diamond(cudaGraphNode_t n[4])
{
    OK(cudaGraphAddEmptyNode(&n[0], g, NULL, 0));
    OK(cudaGraphAddEmptyNode(&n[1], g, &n[0], 1));
    OK(cudaGraphAddEmptyNode(&n[2], g, &n[0], 1));
    OK(cudaGraphAddEmptyNode(&n[3], g, &n[1], 2));
}

/* The roots, what a node depends on, and what depends on it. */
CASE(lists)
{
    cudaGraphNode_t n[4], found[4];
    cudaGraphEdgeData edges[4];
    size_t count = 0;
    diamond(n);
    OK(cudaGraphGetRootNodes(g, NULL, &count));
    SAME(1, count);
    count = 4;
    OK(cudaGraphGetRootNodes(g, found, &count));
    SAME(1, count);
    SAME(1, found[0] == n[0]);
    SAME(1, found[1] == NULL && found[3] == NULL);
    OK(cudaGraphNodeGetDependencies(n[3], NULL, NULL, &count));
    SAME(2, count);
    memset(edges, 1, sizeof edges);
    OK(cudaGraphNodeGetDependencies(n[3], found, edges, &count));
    SAME(1, found[0] == n[1] && found[1] == n[2]);
    SAME(0, edges[1].from_port | edges[1].to_port | edges[1].type);
    count = 1;
    OK(cudaGraphNodeGetDependentNodes(n[0], found, NULL, &count));
    SAME(1, count);
    SAME(1, found[0] == n[1]);
    OK(cudaGraphNodeGetDependentNodes(n[3], NULL, NULL, &count));
    SAME(0, count);
    IS(cudaErrorInvalidValue, cudaGraphGetRootNodes(NULL, NULL, &count));
    IS(cudaErrorInvalidValue, cudaGraphGetRootNodes(g, NULL, NULL));
    IS(cudaErrorInvalidValue, cudaGraphNodeGetDependencies(NULL, NULL, NULL, &count));
    IS(cudaErrorInvalidValue, cudaGraphNodeGetDependentNodes(n[0], NULL, NULL, NULL));
}

/* What is removed is gone; the rest of the graph and its copies stay. */
CASE(taken_away)
{
    cudaGraphNode_t n[4];
    cudaGraph_t clone;
    size_t count = 0;
    diamond(n);
    OK(cudaGraphRemoveDependencies(g, &n[1], &n[3], NULL, 1));
    OK(cudaGraphNodeGetDependencies(n[3], NULL, NULL, &count));
    SAME(1, count);
    /* Edges with data are for launches by a kernel. */
    cudaGraphEdgeData ordinary = {0}, programmatic = {.type = cudaGraphDependencyTypeProgrammatic};
    IS(cudaErrorNotSupported, cudaGraphAddDependencies(g, &n[1], &n[3], &programmatic, 1));
    OK(cudaGraphAddDependencies(g, &n[1], &n[3], &ordinary, 1));
    OK(cudaGraphRemoveDependencies(g, &n[1], &n[3], &ordinary, 1));
    OK(cudaGraphDestroyNode(n[0]));
    OK(cudaGraphGetRootNodes(g, NULL, &count));
    SAME(2, count);
    OK(cudaGraphAddEmptyNode(&n[0], g, &n[3], 1));
    OK(cudaGraphClone(&clone, g));
    OK(cudaGraphGetNodes(clone, NULL, &count));
    SAME(4, count);
    OK(cudaGraphGetEdges(clone, NULL, NULL, NULL, &count));
    SAME(2, count);
    cudaGraphExec_t exec = launched(clone);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroyNode(n[0]));
    OK(cudaGraphDestroyNode(n[3]));
    OK(cudaGraphDestroyNode(n[1]));
    OK(cudaGraphDestroyNode(n[2]));
    OK(cudaGraphGetNodes(g, NULL, &count));
    SAME(0, count);
    OK(cudaGraphAddEmptyNode(&n[0], g, NULL, 0));
}

/* ---- parameters ---- */

static int value_at(size_t index)
{
    int value;
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&value, &data[index], sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static struct cudaMemsetParams set_of(void *to, unsigned value, size_t ints)
{
    return (struct cudaMemsetParams){
        .dst = to, .value = value, .elementSize = 4, .width = ints, .height = 1};
}

static cudaGraphNode_t add_memset(cudaGraph_t graph, cudaGraphNode_t before, void *to,
                                  unsigned value, size_t ints)
{
    cudaGraphNode_t node;
    struct cudaMemsetParams p = set_of(to, value, ints);
    OK(cudaGraphAddMemsetNode(&node, graph, &before, before != NULL, &p));
    return node;
}

static cudaGraphNode_t add_alloc(cudaGraph_t graph, cudaGraphNode_t before, size_t bytes,
                                 void **address)
{
    struct cudaMemAllocNodeParams p = {.poolProps = {.allocType = cudaMemAllocationTypePinned,
                                                     .location.type = cudaMemLocationTypeDevice},
                                       .bytesize = bytes};
    cudaGraphNode_t node;
    OK(cudaGraphAddMemAllocNode(&node, graph, &before, before != NULL, &p));
    *address = p.dptr;
    return node;
}

static const size_t COUNT = 1024;

/* The arguments of fill and add. A node has a copy of them. */
static struct {
    int *data;
    int value;
    size_t count;
    void *pointers[3];
} arguments;

static struct cudaKernelNodeParams params(void *function, int *to, int value, size_t count)
{
    arguments.data = to;
    arguments.value = value;
    arguments.count = count;
    arguments.pointers[0] = &arguments.data;
    arguments.pointers[1] = &arguments.value;
    arguments.pointers[2] = &arguments.count;
    struct cudaKernelNodeParams params = {.func = function,
                                          .gridDim = {4, 1, 1},
                                          .blockDim = {64, 1, 1},
                                          .kernelParams = arguments.pointers};
    return params;
}

static struct cudaGraphNodeParams of_type(enum cudaGraphNodeType type)
{
    struct cudaGraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = type;
    return p;
}

static struct cudaGraphNodeParams kernel_of(void *function, int *to, int value, size_t count)
{
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeKernel);
    struct cudaKernelNodeParams kernel = params(function, to, value, count);
    p.kernel.func = kernel.func;
    p.kernel.gridDim = kernel.gridDim;
    p.kernel.blockDim = kernel.blockDim;
    p.kernel.kernelParams = kernel.kernelParams;
    return p;
}

static cudaGraphNode_t add(cudaGraphNode_t before, struct cudaGraphNodeParams *p)
{
    cudaGraphNode_t n = NULL;
    OK(cudaGraphAddNode(&n, g, &before, NULL, before != NULL, p));
    return n;
}

static void add_one(void *number) { ++*(int *)number; }

/* The nodes of a chain, one of each type that has parameters, and the places of one of two targets
 * that they write. */
enum { CALL, RECORD, WAIT, FILL, SET, COPY, CHAIN };
enum { PART = 16, FILLED = 0, BYTE_SET = PART, COPIED = 2 * PART, WRITTEN = 3 * PART };

static struct target {
    int calls, value, *memory;
    cudaEvent_t event;
} targets[2];

static struct cudaGraphNodeParams params_of(int node, struct target *t)
{
    static const enum cudaGraphNodeType types[CHAIN] = {
        cudaGraphNodeTypeHost,   cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeWaitEvent,
        cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemset,      cudaGraphNodeTypeMemcpy};
    struct cudaGraphNodeParams p = of_type(types[node]);
    int *set = t->memory + BYTE_SET;
    switch (node) {
    case CALL:
        p.host.fn = add_one;
        p.host.userData = &t->calls;
        break;
    case RECORD: p.eventRecord.event = t->event; break;
    case WAIT: p.eventWait.event = t->event; break;
    case FILL: return kernel_of(kernel_fill(), t->memory, t->value, PART);
    case SET:
        p.memset = (struct cudaMemsetParamsV2){.dst = set,
                                               .value = (unsigned)t->value,
                                               .elementSize = sizeof(int),
                                               .width = PART,
                                               .height = 1};
        break;
    case COPY:
        p.memcpy.copyParams = (struct cudaMemcpy3DParms){.srcPtr = {set, 64, 64, 1},
                                                         .dstPtr = {t->memory + COPIED, 64, 64, 1},
                                                         .extent = {64, 1, 1},
                                                         .kind = cudaMemcpyDeviceToDevice};
    }
    return p;
}

/* Changes a node, or a node of `exec`, by the call for its type. */
static void set_by_type(cudaGraphExec_t exec, cudaGraphNode_t n, int node, struct target *t)
{
    struct cudaGraphNodeParams p = params_of(node, t);
    struct cudaHostNodeParams host = {add_one, &t->calls};
    struct cudaMemsetParams set = set_of(t->memory + BYTE_SET, (unsigned)t->value, PART);
    struct cudaKernelNodeParams fill = params(kernel_fill(), t->memory, t->value, PART);
#define CHANGE(what, change, ...)                                     \
    OK(exec ? cudaGraphExec##what##Node##change(exec, n, __VA_ARGS__) \
            : cudaGraph##what##Node##change(n, __VA_ARGS__))
    switch (node) {
    case CALL: CHANGE(Host, SetParams, &host); break;
    case RECORD: CHANGE(EventRecord, SetEvent, t->event); break;
    case WAIT: CHANGE(EventWait, SetEvent, t->event); break;
    case FILL: CHANGE(Kernel, SetParams, &fill); break;
    case SET: CHANGE(Memset, SetParams, &set); break;
    case COPY: CHANGE(Memcpy, SetParams, &p.memcpy.copyParams);
    }
}

static void set_any(cudaGraphExec_t exec, cudaGraphNode_t n, int node, struct target *t)
{
    struct cudaGraphNodeParams p = params_of(node, t);
    OK(exec ? cudaGraphExecNodeSetParams(exec, n, &p) : cudaGraphNodeSetParams(n, &p));
}

/* Changes copies by the calls for those of one row. */
static void set_row(cudaGraphExec_t exec, cudaGraphNode_t n, int node, struct target *t)
{
    int *to = t->memory + COPIED, *from = t->memory + BYTE_SET;
    if (node != COPY)
        set_any(exec, n, node, t);
    else
        CHANGE(Memcpy, SetParams1D, to, from, 64, cudaMemcpyDefault);
}

/* Expects that a launch does all that belongs to this target, and nothing to the other. */
static void expect_launch(cudaGraphExec_t exec, struct target *t)
{
    struct target *other = t == targets ? targets + 1 : targets;
    float later;
    OK(cudaMemset(data, 0, MiB));
    t->calls = other->calls = 0;
    OK(cudaEventRecord(t->event, s));
    OK(cudaEventRecord(other->event, s));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaEventElapsedTime(&later, other->event, t->event));
    SAME(1, later >= 0);
    SAME(1, t->calls);
    SAME(0, other->calls);
    for (int i = PART - 1; i < WRITTEN; i += PART) {
        SAME(t->value, value_at((size_t)(t->memory - data + i)));
        SAME(0, value_at((size_t)(other->memory - data + i)));
    }
}

/* Expects that the graph's nodes have the parameters of this target. */
static void expect_params(cudaGraphNode_t n[CHAIN], const struct target *t)
{
    struct cudaHostNodeParams host;
    struct cudaKernelNodeParams fill;
    struct cudaMemsetParams set;
    struct cudaMemcpy3DParms copy;
    cudaEvent_t recorded, awaited;
    OK(cudaGraphHostNodeGetParams(n[CALL], &host));
    SAME(1, host.fn == add_one && host.userData == &t->calls);
    OK(cudaGraphEventRecordNodeGetEvent(n[RECORD], &recorded));
    OK(cudaGraphEventWaitNodeGetEvent(n[WAIT], &awaited));
    SAME(1, recorded == t->event && awaited == t->event);
    OK(cudaGraphKernelNodeGetParams(n[FILL], &fill));
    SAME(1, fill.func == kernel_fill() && !fill.extra);
    SAME(4, fill.gridDim.x);
    SAME(64, fill.blockDim.x);
    SAME(1, *(int **)fill.kernelParams[0] == t->memory);
    SAME(t->value, *(int *)fill.kernelParams[1]);
    SAME(PART, *(size_t *)fill.kernelParams[2]);
    OK(cudaGraphMemsetNodeGetParams(n[SET], &set));
    SAME(1, set.dst == t->memory + BYTE_SET && set.elementSize == sizeof(int));
    SAME(t->value, set.value);
    SAME(PART, set.width);
    OK(cudaGraphMemcpyNodeGetParams(n[COPY], &copy));
    SAME(1, copy.srcPtr.ptr == t->memory + BYTE_SET && copy.dstPtr.ptr == t->memory + COPIED);
    SAME(64, copy.extent.width);
}

/* A change of the executable graph affects its later launches, and a change of the graph affects
 * later executable graphs. */
CASE(changes)
{
    void (*const ways[])(cudaGraphExec_t, cudaGraphNode_t, int,
                         struct target *) = {set_by_type, set_any, set_row};
    for (int i = 0; i < 2; i++) {
        targets[i] = (struct target){.value = 5 + i, .memory = data + i * WRITTEN};
        OK(cudaEventCreate(&targets[i].event));
    }
    for (int way = 0; way < 6; way++) {
        const bool in_exec = way % 2;
        cudaGraphNode_t n[CHAIN];
        OK(cudaGraphCreate(&g, 0));
        for (int node = 0; node < CHAIN; node++) {
            struct cudaGraphNodeParams p = params_of(node, &targets[0]);
            n[node] = add(node ? n[node - 1] : NULL, &p);
        }
        cudaGraphExec_t exec = instantiated(g);
        expect_launch(exec, &targets[0]);
        expect_params(n, &targets[0]);
        for (int node = 0; node < CHAIN; node++)
            ways[way / 2](in_exec ? exec : NULL, n[node], node, &targets[1]);
        expect_launch(exec, &targets[in_exec]);
        expect_launch(instantiated(g), &targets[!in_exec]);
        expect_params(n, &targets[!in_exec]);
    }
}

/* A node keeps its type, a copy its direction, and a memset of rows its size. */
CASE(changes_refused)
{
    cudaGraphNode_t set, rows, copy, host, empty;
    struct cudaMemsetParams beyond, p = {.pitch = 64, .elementSize = 4, .width = 4, .height = 3};
    struct cudaHostNodeParams none = {NULL, NULL}, call = {add_one, &(int){0}};
    struct cudaGraphNodeParams any = of_type(cudaGraphNodeTypeHost);
    unsigned enabled = 9;
    set = add_memset(g, NULL, data, 1, 16);
    p.dst = data;
    OK(cudaGraphAddMemsetNode(&rows, g, &set, 1, &p));
    OK(cudaGraphAddMemcpyNode1D(&copy, g, &rows, 1, pinned, data, 64, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddHostNode(&host, g, &copy, 1, &call));
    OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));
    cudaGraphExec_t exec = instantiated(g);
    p.value = 9;
    OK(cudaGraphExecMemsetNodeSetParams(exec, rows, &p));
    p.height = 2;
    IS(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(exec, rows, &p));
    beyond = set_of(data, 1, MiB);
    IS(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(set, &beyond));
    beyond.width = SIZE_MAX / 4 + 2; /* more bytes than 64 bits can count */
    IS(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(set, &beyond));
    IS(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(set, NULL));
    IS(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(NULL, &p));
    IS(cudaErrorInvalidValue,
       cudaGraphExecMemcpyNodeSetParams1D(exec, copy, data + 512, data, 64, cudaMemcpyDefault));
    IS(cudaErrorInvalidValue,
       cudaGraphExecMemcpyNodeSetParams1D(exec, set, pinned, data, 64, cudaMemcpyDefault));
    IS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(host, &none));
    IS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(host, NULL));
    IS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(copy, &call));
    IS(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(exec, copy, &call));
    IS(cudaErrorInvalidValue, cudaGraphEventWaitNodeSetEvent(host, NULL));
    any.host.fn = add_one;
    IS(cudaErrorInvalidValue, cudaGraphNodeSetParams(empty, &any));
    IS(cudaErrorInvalidValue, cudaGraphExecNodeSetParams(exec, set, &any));
    any = kernel_of(kernel_fill(), data, 1, 16);
    IS(cudaErrorInvalidValue, cudaGraphExecNodeSetParams(exec, set, &any));
    any = of_type(cudaGraphNodeTypeMemFree);
    IS(cudaErrorNotSupported, cudaGraphNodeSetParams(copy, &any));
    any = of_type(cudaGraphNodeTypeEmpty);
    any.reserved2 = 1;
    IS(cudaErrorInvalidValue, cudaGraphAddNode(&empty, g, NULL, NULL, 0, &any));
    IS(cudaErrorInvalidValue, cudaGraphAddNode(&empty, g, NULL, NULL, 0, NULL));
    /* A node that is disabled does nothing, until it is enabled. */
    OK(cudaGraphNodeSetEnabled(exec, rows, 0));
    OK(cudaGraphNodeGetEnabled(exec, rows, &enabled));
    SAME(0, enabled);
    OK(cudaGraphLaunch(exec, s));
    SAME(1, value_at(0));
    OK(cudaGraphNodeSetEnabled(exec, rows, 1));
    OK(cudaGraphLaunch(exec, s));
    SAME(9, value_at(0));
    IS(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, host, 0));
}

/* ---- whole updates ---- */

/* A graph that sets two pieces of `data`, one after the other or in parallel. */
static cudaGraph_t setting(unsigned value, bool in_a_line, cudaGraphNode_t n[2])
{
    cudaGraph_t made;
    OK(cudaGraphCreate(&made, 0));
    n[0] = add_memset(made, NULL, data, value, 16);
    n[1] = add_memset(made, in_a_line ? n[0] : NULL, data + 64, value, 16);
    return made;
}

/* The same, and then a copy inside the device. */
static cudaGraph_t three(unsigned value, bool in_a_line, cudaGraphNode_t n[3])
{
    cudaGraph_t made = setting(value, in_a_line, n);
    OK(cudaGraphAddMemcpyNode1D(&n[2], made, &n[1], 1, data + 128, data + 64, 64,
                                cudaMemcpyDeviceToDevice));
    return made;
}

/* A graph of the same form gives its parameters, and another one says why not. */
CASE(updates)
{
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t n[3], m[3], e;
    cudaGraphExec_t exec;
    unsigned long long flags = 9;
    cudaGraph_t first = three(1, true, n), second = three(2, true, m), beside = three(3, false, m);
    OK(cudaGraphInstantiate(&exec, first, cudaGraphInstantiateFlagUseNodePriority));
    OK(cudaGraphExecGetFlags(exec, &flags));
    SAME(0, flags);
    OK(cudaGraphExecUpdate(exec, second, &info));
    SAME(cudaGraphExecUpdateSuccess, info.result);
    OK(cudaGraphLaunch(exec, s));
    SAME(2, value_at(143));

    IS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, beside, &info));
    SAME(cudaGraphExecUpdateErrorTopologyChanged, info.result);
    SAME(1, !info.errorNode);
    OK(cudaGraphAddEmptyNode(&e, beside, NULL, 0));
    IS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, beside, &info));
    SAME(cudaGraphExecUpdateErrorTopologyChanged, info.result);
    SAME(1, !info.errorNode);

    OK(cudaGraphDestroyNode(n[2]));
    OK(cudaGraphAddEmptyNode(&n[2], first, &n[1], 1));
    IS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, first, &info));
    SAME(cudaGraphExecUpdateErrorNodeTypeChanged, info.result);
    SAME(1, info.errorNode == n[2]);
    /* Nothing has changed. */
    OK(cudaMemset(data, 0, MiB));
    OK(cudaGraphLaunch(exec, s));
    SAME(2, value_at(143));
    IS(cudaErrorInvalidValue, cudaGraphExecUpdate(exec, NULL, &info));
    IS(cudaErrorInvalidValue, cudaGraphExecUpdate(exec, first, NULL));
}

/* ---- a node of any type ---- */

CASE(no_type)
{
    cudaGraphNode_t n;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeExtSemaphoreSignal);
    IS(cudaErrorNotSupported, cudaGraphAddNode(&n, g, NULL, NULL, 0, &p));
}

CASE(dot)
{
    cudaGraphNode_t n[4];
    diamond(n);
    add_memset(g, n[3], data, 7, 16);
    OK(cudaGraphDebugDotPrint(g, "plain.dot", 0));
    OK(cudaGraphDebugDotPrint(g, "verbose.dot", cudaGraphDebugDotFlagsVerbose));
    IS(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(g, "/nowhere/at/all.dot", 0));
    IS(cudaErrorInvalidValue, cudaGraphDebugDotPrint(g, NULL, 0));
    IS(cudaErrorInvalidValue, cudaGraphDebugDotPrint(NULL, "plain.dot", 0));
}

/* A node of each type that has parameters, in each.dot. */
CASE(dot_of_each)
{
    cudaGraphNode_t n, freed;
    cudaEvent_t event;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeHost);
    void *allocated;
    int number = 0;
    OK(cudaEventCreate(&event));
    p.host = (struct cudaHostNodeParamsV2){.fn = add_one, .userData = &number};
    n = add(NULL, &p);
    OK(cudaGraphAddEventRecordNode(&n, g, &n, 1, event));
    OK(cudaGraphAddEventWaitNode(&n, g, &n, 1, event));
    OK(cudaGraphAddMemcpyNode1D(&n, g, &n, 1, &data[16], data, 64, cudaMemcpyDefault));
    p = kernel_of(kernel_fill(), data, 5, 16);
    n = add(n, &p);
    p = kernel_of(kernel_add(), data, 5, 16);
    n = add(n, &p);
    n = add_alloc(g, n, 64, &allocated);
    OK(cudaGraphAddMemFreeNode(&freed, g, &n, 1, allocated));
    OK(cudaGraphDebugDotPrint(g, "each.dot", cudaGraphDebugDotFlagsVerbose));
    /* The parameters are recognized by their addresses, which differ in each run. */
    FILE *file = fopen("each.txt", "w");
    if (!file)
        exit(2);
    fprintf(file, "argument %p\nevent %p\nevent %p\n", (void *)&number, (void *)event,
            (void *)event);
    fprintf(file, "%p to %p, 1 x 64 bytes\n", (void *)data, (void *)(data + 16));
    fprintf(file, "fill %p, 5, 16\nadd %p, 5, 16\n%p\n%p\n", (void *)data, (void *)data, allocated,
            allocated);
    fclose(file);
}

/* ---- graphs in graphs ---- */

/* A child's work comes in its node's place: after what the node depends on, and before what depends
 * on it. Otherwise the checker would report it. */
CASE(children)
{
    cudaGraphNode_t n[2], in[2], before, c, after, empty, nested;
    cudaGraph_t child, found, middle;
    enum cudaGraphNodeType type;
    size_t count = 0;
    struct cudaMemsetParams p;
    child = setting(5, true, n);
    before = add_memset(g, NULL, data, 1, 128);
    OK(cudaGraphCreate(&middle, 0));
    OK(cudaGraphAddChildGraphNode(&nested, middle, NULL, 0, child));
    OK(cudaGraphAddChildGraphNode(&c, g, &before, 1, middle));
    after = add_memset(g, c, data + 8, 9, 60);
    OK(cudaGraphCreate(&found, 0));
    OK(cudaGraphAddChildGraphNode(&empty, g, &after, 1, found));
    OK(cudaGraphDestroy(found));
    OK(cudaGraphNodeGetType(c, &type));
    SAME(cudaGraphNodeTypeGraph, type);
    cudaGraphExec_t exec = launched(g);
    SAME(5, value_at(7));
    SAME(9, value_at(8));
    SAME(9, value_at(67));
    SAME(5, value_at(68));
    SAME(1, value_at(80));
    /* The node has a copy, so a change of the first graph changes nothing there. */
    p = set_of(data + 64, 6, 16);
    OK(cudaGraphMemsetNodeSetParams(n[1], &p));
    OK(cudaGraphChildGraphNodeGetGraph(c, &found));
    SAME(0, found == middle);
    count = 1;
    OK(cudaGraphGetNodes(found, in, &count));
    OK(cudaGraphChildGraphNodeGetGraph(in[0], &found));
    count = 2;
    OK(cudaGraphGetNodes(found, in, &count));
    OK(cudaGraphMemsetNodeGetParams(in[1], &p));
    SAME(5, p.value);
    /* A node of the child is a node of the executable graph. */
    p.value = 7;
    OK(cudaGraphExecMemsetNodeSetParams(exec, in[1], &p));
    OK(cudaGraphLaunch(exec, s));
    SAME(7, value_at(68));
    IS(cudaErrorInvalidValue, cudaGraphChildGraphNodeGetGraph(before, &found));
    IS(cudaErrorInvalidValue, cudaGraphAddChildGraphNode(&c, g, NULL, 0, NULL));
    OK(cudaGraphDestroyNode(c));
}

CASE(moved)
{
    cudaGraphNode_t n[2], c;
    cudaGraph_t child, found, clone;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeGraph);
    child = setting(5, true, n);
    p.graph.graph = child;
    p.graph.ownership = cudaGraphChildGraphOwnershipMove;
    c = add(NULL, &p);
    OK(cudaGraphChildGraphNodeGetGraph(c, &found));
    SAME(1, found == child);
    p.graph.graph = g;
    IS(cudaErrorInvalidValue, cudaGraphAddNode(&c, child, NULL, NULL, 0, &p));
    OK(cudaGraphClone(&clone, g));
    launched(clone);
    SAME(5, value_at(64));
}

/* ---- kernel nodes ---- */

/* A node with a changed pointer does not refer to what had that address when the node was made. */
CASE(kernels_changed_pointer)
{
    cudaGraphNode_t node;
    int *old, *newer;
    OK(cudaMallocAsync((void **)&old, COUNT * sizeof(int), s));
    struct cudaKernelNodeParams one = params(kernel_fill(), old, 5, COUNT);
    OK(cudaGraphAddKernelNode(&node, g, NULL, 0, &one));
    OK(cudaFreeAsync(old, s));
    OK(cudaMallocAsync((void **)&newer, COUNT * sizeof(int), s));
    SAME(1, old == newer);
    one = params(kernel_fill(), newer, 5, COUNT);
    OK(cudaGraphKernelNodeSetParams(node, &one));
    cudaGraphExec_t exec = instantiated(g);
    OK(cudaGraphLaunch(exec, s));
    OK(cudaFreeAsync(newer, s));
    OK(cudaStreamSynchronize(s));
}

CASE(kernels_hold)
{
    cudaGraphNode_t node;
    volatile int *gate = gate_create();
    void *pointers[] = {&gate};
    struct cudaKernelNodeParams one = {.func = kernel_hold(),
                                       .gridDim = {1, 1, 1},
                                       .blockDim = {1, 1, 1},
                                       .kernelParams = pointers};
    OK(cudaGraphAddKernelNode(&node, g, NULL, 0, &one));
    OK(cudaGraphKernelNodeGetParams(node, &one));
    SAME(1, *(volatile int **)one.kernelParams[0] == gate);
    cudaGraphExec_t exec = instantiated(g);
    OK(cudaGraphLaunch(exec, s));
    IS(cudaErrorNotReady, cudaStreamQuery(s));
    *gate = 1;
    OK(cudaStreamSynchronize(s));
    gate_destroy(gate);
}

/* A captured launch is a kernel node with the parameters that kernels.cu gives. */
CASE(kernels_captured)
{
    cudaGraphNode_t node;
    struct cudaKernelNodeParams read;
    size_t count = 1;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(launch_fill(data, 8, COUNT, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphGetNodes(g, &node, &count));
    OK(cudaGraphKernelNodeGetParams(node, &read));
    SAME(1, read.func == kernel_fill());
    SAME(4, read.gridDim.x);
    SAME(256, read.blockDim.x);
    SAME(8, *(int *)read.kernelParams[1]);
    OK(cudaGraphKernelNodeSetParams(node, &read)); /* its own parameters */
}

/* simulator/tests/facts/probe-more-answers.c asked a real device the rest ("kernel_nodes"). */
CASE(kernels_refused)
{
    cudaGraph_t other;
    cudaGraphNode_t node, empty, elsewhere;
    OK(cudaGraphCreate(&other, 0));
    struct cudaKernelNodeParams good = params(kernel_fill(), data, 1, COUNT), one = good;
    OK(cudaGraphAddKernelNode(&node, g, NULL, 0, &good));
    OK(cudaGraphAddKernelNode(&elsewhere, other, NULL, 0, &good));
    OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));
    one.extra = one.kernelParams;
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, g, NULL, 0, &one));
    one = good;
    one.gridDim.y = 0;
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, g, NULL, 0, &one));
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, g, NULL, 0, NULL));
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(NULL, g, NULL, 0, &good));
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, NULL, NULL, 0, &good));
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, g, &elsewhere, 1, &good));
    IS(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(empty, &one));
    IS(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(node, NULL));
    IS(cudaErrorInvalidValue, cudaGraphKernelNodeSetParams(empty, &good));
    one = good;
    one.func = (void *)&arguments;
    IS(cudaErrorInvalidResourceHandle, cudaGraphKernelNodeSetParams(node, &one));
    cudaGraphExec_t exec = instantiated(g);
    IS(cudaErrorInvalidResourceHandle, cudaGraphExecKernelNodeSetParams(exec, node, &one));
    IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, elsewhere, &good));
    IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, empty, &good));
    IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, node, NULL));
}

/* ---- memory of graphs ---- */

static size_t figure(enum cudaGraphMemAttributeType attribute)
{
    uint64_t value = UINT64_MAX;
    OK(cudaDeviceGetGraphMemAttribute(0, attribute, &value));
    return (size_t)(value / MiB);
}

static size_t reserved(void) { return figure(cudaGraphMemAttrReservedMemCurrent); }
static size_t used(void) { return figure(cudaGraphMemAttrUsedMemCurrent); }

/* Allocates, sets every int, copies them to pinned memory, and frees (or not). */
static cudaGraph_t small_graph(void **address, bool with_free)
{
    cudaGraph_t made;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&made, 0));
    node = add_alloc(made, NULL, 64 * MiB, address);
    node = add_memset(made, node, *address, 0x01020304, 1024);
    OK(cudaGraphAddMemcpyNode1D(&node, made, &node, 1, pinned, *address, 4096,
                                cudaMemcpyDeviceToHost));
    if (with_free)
        OK(cudaGraphAddMemFreeNode(&node, made, &node, 1, *address));
    return made;
}

static void nothing_left(void)
{
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(0, reserved());
    SAME(0, used());
}

CASE(freed_by_another_graph)
{
    void *a, *freed = NULL;
    cudaGraph_t other;
    cudaGraphExec_t x, y;
    cudaGraphNode_t node, nodes[3];
    size_t count = 3;
    g = small_graph(&a, false);
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
    OK(cudaStreamSynchronize(s));
    SAME(0x01020304, pinned[3]);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(other));
    nothing_left();
}

/* With SIM_MEMORY=98M. A launch of a graph fails while an earlier launch of it is pending: that one
 * keeps its memory. */
CASE(no_memory_for_another)
{
    void *a;
    volatile int *gate = pinned + 8192;
    cudaGraphExec_t x[2];
    for (int i = 0; i < 2; i++)
        x[i] = instantiated(small_graph(&a, true));
    *gate = 0;
    OK(launch_hold(gate, s));
    /* The second takes over what the first has. */
    for (int i = 0; i < 2; i++)
        OK(cudaGraphLaunch(x[i], s));
    SAME(64, reserved());
    /* In another stream it may not: one segment is free, and two are needed. */
    IS(cudaErrorMemoryAllocation, cudaGraphLaunch(x[0], apart));
    SAME(64, reserved());
    *gate = 1;
    OK(cudaDeviceSynchronize());
    SAME(0x01020304, pinned[3]);
    for (int i = 0; i < 2; i++)
        OK(cudaGraphExecDestroy(x[i]));
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
    const cudaGraphEdgeData *edges = NULL;
    cudaGraphNode_t first;
    size_t count = 0;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaLaunchHostFunc(s, nothing, NULL));
    OK(cudaStreamGetCaptureInfo(s, &now, &id, &into, &tips, &edges, &count));
    SAME(0, edges->from_port | edges->to_port | edges->type);
    SAME(cudaStreamCaptureStatusActive, now);
    SAME(1, count);
    first = tips[0];
    OK(cudaGraphNodeGetType(first, &type));
    SAME(cudaGraphNodeTypeHost, type);
    IS(cudaErrorIllegalState, cudaGraphDestroy(into));
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
    /* Without an address for the graph, which remains the program's. */
    OK(cudaStreamBeginCaptureToGraph(s, g, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaLaunchHostFunc(s, nothing, NULL));
    OK(cudaStreamEndCapture(s, NULL));
    OK(cudaGraphGetNodes(g, NULL, &count));
    SAME(1, count);
}

/* ---- nodes added by calls ---- */

static void increment(void *const *memory, const void *argument)
{
    const size_t *count = argument;
    for (size_t i = 0; i < *count; i++)
        ((int *)memory[0])[i]++;
}

/* Each of these prints a sentence. */
CASE(refused)
{
    cudaGraphNode_t node;
    int from[8][8];
    struct cudaMemcpy3DParms slices = {.srcPtr = {from, 32, 8, 4},
                                       .dstPtr = {data, 32, 8, 2},
                                       .extent = {32, 2, 2},
                                       .kind = cudaMemcpyHostToDevice};
    IS(cudaErrorNotSupported, cudaGraphAddMemcpyNode(&node, g, NULL, 0, &slices));
    IS(cudaErrorInvalidValue,
       sim_graph_add_kernel_node(&node, g, NULL, 0, NULL, increment, NULL, 0, NULL, 0, 0));
}

/* Two kernels of one graph write the same bytes. */
CASE(two_kernels)
{
    cudaGraphNode_t node;
    size_t count = 16;
    OK(cudaMemset(data, 0, 64));
    OK(cudaDeviceSynchronize());
    struct sim_range range = sim_read_write(data, 64);
    OK(sim_graph_add_kernel_node(&node, g, NULL, 0, "first", increment, &count, sizeof count,
                                 &range, 1, 0));
    OK(sim_graph_add_kernel_node(&node, g, &node, is_correct, "second", increment, &count,
                                 sizeof count, &range, 1, 0));
    launched(g);
}

int main(int argc, char **argv)
{
    is_correct = argc < 3 || !strcmp(argv[2], "correct");
    if (argc < 2)
        return run_named(argc, argv);
    begin();
    int status = argc < 3 ? run_named(argc, argv) : run_case(argc, argv);
    end();
    return status;
}
