/* Changes to graphs: graph_changes NAME. simulator/tests/facts/probe-graph-nodes.c asked a real
 * device ("destroyed_nodes", "updates", "children"). */
#include "expect.h"

#include <stdbool.h>

#include "kernels.h"

static cudaStream_t s;
static cudaGraph_t g;
static int *data; /* 1 MiB */

static void begin(void)
{
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaGraphCreate(&g, 0));
}

static void end(void)
{
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(data));
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
    begin();
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
    end();
}

/* What is removed is gone; the rest of the graph and its copies stay. */
CASE(taken_away)
{
    cudaGraphNode_t n[4];
    cudaGraph_t clone;
    size_t count = 0;
    begin();
    diamond(n);
    OK(cudaGraphRemoveDependencies(g, &n[1], &n[3], NULL, 1));
    IS(cudaErrorInvalidValue, cudaGraphRemoveDependencies(g, &n[1], &n[3], NULL, 1));
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
    end();
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

/* A change of the executable graph affects later launches, and a change of the graph affects later
 * executable graphs. */
CASE(memsets)
{
    cudaGraphNode_t n, other;
    struct cudaMemsetParams p,
        rows = {.dst = NULL, .pitch = 64, .value = 1, .elementSize = 4, .width = 4, .height = 3};
    begin();
    n = add_memset(g, NULL, data, 1, 16);
    rows.dst = data;
    OK(cudaGraphAddMemsetNode(&other, g, &n, 1, &rows));
    cudaGraphExec_t exec = instantiated(g);
    p = set_of(data + 64, 2, 32);
    OK(cudaGraphMemsetNodeSetParams(n, &p));
    OK(cudaGraphLaunch(exec, s));
    SAME(1, value_at(15));
    p = set_of(data + 128, 3, 8);
    OK(cudaGraphExecMemsetNodeSetParams(exec, n, &p));
    OK(cudaGraphLaunch(exec, s));
    SAME(3, value_at(135));
    OK(cudaGraphMemsetNodeGetParams(n, &p));
    SAME(1, p.dst == data + 64 && p.value == 2 && p.width == 32 && p.elementSize == 4);
    launched(g);
    SAME(2, value_at(95));
    /* In a memset of rows the address and the value may change. */
    rows.value = 9;
    OK(cudaGraphExecMemsetNodeSetParams(exec, other, &rows));
    rows.height = 2;
    IS(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(exec, other, &rows));
    p = set_of(data, 1, MiB);
    IS(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(n, &p));
    IS(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(n, NULL));
    IS(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(NULL, &p));
    end();
}

CASE(copies)
{
    cudaGraphNode_t n, set;
    struct cudaMemcpy3DParms p;
    int *pinned;
    begin();
    OK(cudaMallocHost((void **)&pinned, 4096));
    memset(pinned, 0, 4096);
    set = add_memset(g, NULL, data, 7, 16);
    OK(cudaGraphAddMemcpyNode1D(&n, g, &set, 1, pinned, data, 64, cudaMemcpyDeviceToHost));
    cudaGraphExec_t exec = instantiated(g);
    OK(cudaGraphMemcpyNodeGetParams(n, &p));
    SAME(1, p.srcPtr.ptr == data && p.dstPtr.ptr == pinned && p.extent.width == 64
                && p.kind == cudaMemcpyDeviceToHost);
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, n, pinned + 100, data, 64, cudaMemcpyDefault));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    SAME(0, pinned[0]);
    SAME(7, pinned[115]);
    p.dstPtr.ptr = pinned + 200;
    OK(cudaGraphExecMemcpyNodeSetParams(exec, n, &p));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    SAME(7, pinned[215]);
    OK(cudaGraphMemcpyNodeSetParams(n, &p));
    OK(cudaGraphMemcpyNodeSetParams1D(n, pinned, data, 4, cudaMemcpyDeviceToHost));
    /* A copy to the host remains one. */
    IS(cudaErrorInvalidValue,
       cudaGraphExecMemcpyNodeSetParams1D(exec, n, data + 512, data, 64, cudaMemcpyDefault));
    IS(cudaErrorInvalidValue,
       cudaGraphExecMemcpyNodeSetParams1D(exec, set, pinned, data, 64, cudaMemcpyDefault));
    OK(cudaFreeHost(pinned));
    end();
}

static void add_to(void *number) { ++*(int *)number; }

CASE(host_functions_and_events)
{
    int one = 0, two = 0;
    cudaEvent_t first, second, found;
    cudaGraphNode_t n, record, wait;
    struct cudaHostNodeParams p = {add_to, &one};
    begin();
    OK(cudaEventCreate(&first));
    OK(cudaEventCreate(&second));
    OK(cudaGraphAddHostNode(&n, g, NULL, 0, &p));
    OK(cudaGraphAddEventRecordNode(&record, g, &n, 1, first));
    OK(cudaGraphAddEventWaitNode(&wait, g, &record, 1, first));
    cudaGraphExec_t exec = instantiated(g);
    p.userData = &two;
    OK(cudaGraphExecHostNodeSetParams(exec, n, &p));
    OK(cudaGraphHostNodeGetParams(n, &p));
    SAME(1, p.fn == add_to && p.userData == &one);
    OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, second));
    OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, second));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaEventSynchronize(second));
    SAME(0, one);
    SAME(1, two);
    p.userData = &two;
    OK(cudaGraphHostNodeSetParams(n, &p));
    p.userData = NULL;
    OK(cudaGraphHostNodeGetParams(n, &p));
    SAME(1, p.userData == &two);
    p.fn = NULL;
    IS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(n, &p));
    IS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(n, NULL));
    p.fn = add_to;
    IS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(wait, &p));
    OK(cudaGraphEventRecordNodeSetEvent(record, second));
    OK(cudaGraphEventRecordNodeGetEvent(record, &found));
    SAME(1, found == second);
    OK(cudaGraphEventWaitNodeGetEvent(wait, &found));
    SAME(1, found == first);
    OK(cudaGraphEventWaitNodeSetEvent(wait, second));
    IS(cudaErrorInvalidValue, cudaGraphEventWaitNodeSetEvent(record, second));
    IS(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(exec, wait, &p));
    end();
}

/* A node that is disabled does nothing, until it is enabled. */
CASE(disabled)
{
    cudaGraphNode_t n[2], host;
    struct cudaHostNodeParams h = {add_to, &(int){0}};
    unsigned enabled = 9;
    begin();
    n[0] = add_memset(g, NULL, data, 1, 16);
    n[1] = add_memset(g, n[0], data, 2, 16);
    OK(cudaGraphAddHostNode(&host, g, &n[1], 1, &h));
    cudaGraphExec_t exec = instantiated(g);
    OK(cudaGraphNodeSetEnabled(exec, n[1], 0));
    OK(cudaGraphNodeGetEnabled(exec, n[1], &enabled));
    SAME(0, enabled);
    OK(cudaGraphLaunch(exec, s));
    SAME(1, value_at(0));
    OK(cudaGraphNodeSetEnabled(exec, n[1], 1));
    OK(cudaGraphLaunch(exec, s));
    SAME(2, value_at(0));
    IS(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, host, 0));
    end();
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
    begin();
    cudaGraph_t first = three(1, true, n), second = three(2, true, m), beside = three(3, false, m);
    OK(cudaGraphInstantiate(&exec, first, cudaGraphInstantiateFlagUseNodePriority));
    OK(cudaGraphExecGetFlags(exec, &flags));
    SAME(cudaGraphInstantiateFlagUseNodePriority, flags);
    OK(cudaGraphExecUpdate(exec, second, &info));
    SAME(cudaGraphExecUpdateSuccess, info.result);
    OK(cudaGraphLaunch(exec, s));
    SAME(2, value_at(143));

    IS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, beside, &info));
    SAME(cudaGraphExecUpdateErrorTopologyChanged, info.result);
    SAME(1, info.errorNode == m[1]);
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
    end();
}

/* ---- a node of any type ---- */

static struct cudaGraphNodeParams of_type(enum cudaGraphNodeType type)
{
    struct cudaGraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = type;
    return p;
}

static cudaGraphNode_t add(cudaGraphNode_t before, struct cudaGraphNodeParams *p)
{
    cudaGraphNode_t n = NULL;
    OK(cudaGraphAddNode(&n, g, &before, NULL, before != NULL, p));
    return n;
}

CASE(any_type)
{
    int count = 0, value = 5;
    size_t ints = 16;
    cudaEvent_t event;
    enum cudaGraphNodeType type;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeMemAlloc);
    begin();
    OK(cudaEventCreate(&event));
    p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    p.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    p.alloc.bytesize = 64 * MiB;
    cudaGraphNode_t n = add(NULL, &p);
    int *a = p.alloc.dptr;
    p = of_type(cudaGraphNodeTypeKernel);
    void *arguments[] = {&a, &value, &ints};
    p.kernel.func = kernel_fill();
    p.kernel.gridDim = p.kernel.blockDim = (dim3){1, 1, 1};
    p.kernel.kernelParams = arguments;
    n = add(n, &p);
    p = of_type(cudaGraphNodeTypeMemset);
    p.memset = (struct cudaMemsetParamsV2){
        .dst = a, .value = 6, .elementSize = 4, .width = 4, .height = 1};
    n = add(n, &p);
    p = of_type(cudaGraphNodeTypeMemcpy);
    p.memcpy.copyParams = (struct cudaMemcpy3DParms){.srcPtr = {a, 64, 64, 1},
                                                     .dstPtr = {data, 64, 64, 1},
                                                     .extent = {64, 1, 1},
                                                     .kind = cudaMemcpyDeviceToDevice};
    n = add(n, &p);
    OK(cudaGraphNodeGetType(n, &type));
    SAME(cudaGraphNodeTypeMemcpy, type);
    p = of_type(cudaGraphNodeTypeHost);
    p.host.fn = add_to;
    p.host.userData = &count;
    n = add(n, &p);
    p = of_type(cudaGraphNodeTypeEventRecord);
    p.eventRecord.event = event;
    n = add(n, &p);
    p = of_type(cudaGraphNodeTypeWaitEvent);
    p.eventWait.event = event;
    n = add(n, &p);
    p = of_type(cudaGraphNodeTypeEmpty);
    n = add(n, &p);
    p = of_type(cudaGraphNodeTypeMemFree);
    p.free.dptr = a;
    n = add(n, &p);
    cudaGraphExec_t exec = launched(g);
    OK(cudaGraphLaunch(exec, s));
    SAME(6, value_at(3));
    SAME(5, value_at(4));
    SAME(2, count);
    p = of_type(cudaGraphNodeTypeEmpty);
    p.reserved2 = 1;
    IS(cudaErrorInvalidValue, cudaGraphAddNode(&n, g, NULL, NULL, 0, &p));
    IS(cudaErrorInvalidValue, cudaGraphAddNode(&n, g, NULL, NULL, 0, NULL));
    end();
}

CASE(any_parameters)
{
    cudaGraphNode_t n, kernel;
    struct cudaMemsetParams set;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeKernel);
    int value = 5, *to;
    size_t ints = 16;
    void *arguments[] = {&to, &value, &ints};
    begin();
    to = data;
    p.kernel.func = kernel_fill();
    p.kernel.gridDim = p.kernel.blockDim = (dim3){1, 1, 1};
    p.kernel.kernelParams = arguments;
    kernel = add(NULL, &p);
    n = add_memset(g, kernel, data + 64, 1, 16);
    cudaGraphExec_t exec = instantiated(g);
    value = 8;
    OK(cudaGraphExecNodeSetParams(exec, kernel, &p));
    IS(cudaErrorInvalidValue, cudaGraphExecNodeSetParams(exec, n, &p));
    p = of_type(cudaGraphNodeTypeMemset);
    p.memset = (struct cudaMemsetParamsV2){
        .dst = data + 128, .value = 9, .elementSize = 4, .width = 16, .height = 1};
    OK(cudaGraphExecNodeSetParams(exec, n, &p));
    OK(cudaGraphLaunch(exec, s));
    SAME(8, value_at(0));
    SAME(9, value_at(143));
    OK(cudaGraphNodeSetParams(n, &p));
    OK(cudaGraphMemsetNodeGetParams(n, &set));
    SAME(9, set.value);
    IS(cudaErrorInvalidValue, cudaGraphNodeSetParams(kernel, &p));
    end();
}

static void CUDART_CB add_one(void *number) { ++*(int *)number; }

/* cudaGraphNodeSetParams for the other types of nodes, before the graph is instantiated. */
CASE(all_parameters)
{
    cudaGraphNode_t n[4], empty;
    cudaEvent_t first, second;
    int numbers[2] = {0, 0}, back[4] = {0};
    struct cudaMemcpy3DParms copied = {.extent = {4, 1, 1}, .kind = cudaMemcpyDefault};
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeHost);
    begin();
    OK(cudaEventCreate(&first));
    OK(cudaEventCreate(&second));
    OK(cudaMemsetAsync(data, 3, MiB, s));
    OK(cudaStreamSynchronize(s));
    p.host = (struct cudaHostNodeParamsV2){.fn = add_one, .userData = &numbers[0]};
    n[0] = add(NULL, &p);
    OK(cudaGraphAddEventRecordNode(&n[1], g, &n[0], 1, first));
    OK(cudaGraphAddEventWaitNode(&n[2], g, &n[1], 1, first));
    OK(cudaGraphAddMemcpyNode1D(&n[3], g, &n[2], 1, &back[0], data, 4, cudaMemcpyDefault));
    OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));

    p.host.userData = &numbers[1];
    OK(cudaGraphNodeSetParams(n[0], &p));
    IS(cudaErrorInvalidValue, cudaGraphNodeSetParams(empty, &p));
    p = of_type(cudaGraphNodeTypeEventRecord);
    p.eventRecord.event = second;
    OK(cudaGraphNodeSetParams(n[1], &p));
    p = of_type(cudaGraphNodeTypeWaitEvent);
    p.eventWait.event = second;
    OK(cudaGraphNodeSetParams(n[2], &p));
    p = of_type(cudaGraphNodeTypeMemcpy);
    copied.srcPtr = (struct cudaPitchedPtr){data, 4, 4, 1};
    copied.dstPtr = (struct cudaPitchedPtr){&back[2], 4, 4, 1};
    p.memcpy.copyParams = copied;
    OK(cudaGraphNodeSetParams(n[3], &p));
    p = of_type(cudaGraphNodeTypeMemFree);
    IS(cudaErrorNotSupported, cudaGraphNodeSetParams(n[3], &p));

    cudaEvent_t found;
    OK(cudaGraphEventRecordNodeGetEvent(n[1], &found));
    SAME(1, found == second);
    OK(cudaGraphEventWaitNodeGetEvent(n[2], &found));
    SAME(1, found == second);
    launched(g);
    OK(cudaStreamSynchronize(s));
    SAME(0, numbers[0]);
    SAME(1, numbers[1]);
    SAME(0, back[0]);
    SAME(0x03030303, back[2]);
    end();
}

CASE(no_type)
{
    cudaGraphNode_t n;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeExtSemaphoreSignal);
    begin();
    IS(cudaErrorNotSupported, cudaGraphAddNode(&n, g, NULL, NULL, 0, &p));
    end();
}

CASE(dot)
{
    cudaGraphNode_t n[4];
    begin();
    diamond(n);
    add_memset(g, n[3], data, 7, 16);
    OK(cudaGraphDebugDotPrint(g, "plain.dot", 0));
    OK(cudaGraphDebugDotPrint(g, "verbose.dot", cudaGraphDebugDotFlagsVerbose));
    IS(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(g, "/nowhere/at/all.dot", 0));
    IS(cudaErrorInvalidValue, cudaGraphDebugDotPrint(g, NULL, 0));
    IS(cudaErrorInvalidValue, cudaGraphDebugDotPrint(NULL, "plain.dot", 0));
    end();
}

/* A node of each type that has parameters, in each.dot. */
CASE(dot_of_each)
{
    cudaGraphNode_t n, freed;
    cudaEvent_t event;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeHost);
    int *to, value = 5, number = 0;
    size_t ints = 16;
    void *arguments[] = {&to, &value, &ints};
    begin();
    to = data;
    OK(cudaEventCreate(&event));
    p.host = (struct cudaHostNodeParamsV2){.fn = add_one, .userData = &number};
    n = add(NULL, &p);
    OK(cudaGraphAddEventRecordNode(&n, g, &n, 1, event));
    OK(cudaGraphAddEventWaitNode(&n, g, &n, 1, event));
    OK(cudaGraphAddMemcpyNode1D(&n, g, &n, 1, &data[16], data, 64, cudaMemcpyDefault));
    p = of_type(cudaGraphNodeTypeKernel);
    p.kernel.func = kernel_fill();
    p.kernel.gridDim = p.kernel.blockDim = (dim3){1, 1, 1};
    p.kernel.kernelParams = arguments;
    n = add(n, &p);
    p.kernel.func = kernel_add();
    n = add(n, &p);
    p = of_type(cudaGraphNodeTypeMemAlloc);
    p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    p.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    p.alloc.bytesize = 64;
    n = add(n, &p);
    OK(cudaGraphAddMemFreeNode(&freed, g, &n, 1, p.alloc.dptr));
    OK(cudaGraphDebugDotPrint(g, "each.dot", cudaGraphDebugDotFlagsVerbose));
    /* The parameters are recognized by their addresses, which differ in each run. */
    FILE *file = fopen("each.txt", "w");
    if (!file)
        exit(2);
    fprintf(file, "argument %p\nevent %p\nevent %p\n", (void *)&number, (void *)event,
            (void *)event);
    fprintf(file, "%p to %p, 1 x 64 bytes\n", (void *)data, (void *)(data + 16));
    fprintf(file, "fill %p, 5, 16\nadd %p, 5, 16\n%p\n%p\n", (void *)data, (void *)data,
            p.alloc.dptr, p.alloc.dptr);
    fclose(file);
    end();
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
    begin();
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
    IS(cudaErrorInvalidValue, cudaGraphDestroy(found));
    IS(cudaErrorInvalidValue, cudaGraphChildGraphNodeGetGraph(before, &found));
    IS(cudaErrorInvalidValue, cudaGraphAddChildGraphNode(&c, g, NULL, 0, NULL));
    OK(cudaGraphDestroyNode(c));
    end();
}

CASE(moved)
{
    cudaGraphNode_t n[2], c;
    cudaGraph_t child, found, clone;
    cudaGraphExec_t exec;
    struct cudaGraphNodeParams p = of_type(cudaGraphNodeTypeGraph);
    begin();
    child = setting(5, true, n);
    p.graph.graph = child;
    p.graph.ownership = cudaGraphChildGraphOwnershipMove;
    c = add(NULL, &p);
    OK(cudaGraphChildGraphNodeGetGraph(c, &found));
    SAME(1, found == child);
    IS(cudaErrorInvalidValue, cudaGraphDestroy(child));
    IS(cudaErrorNotSupported, cudaGraphInstantiate(&exec, child, 0));
    p.graph.graph = g;
    IS(cudaErrorInvalidValue, cudaGraphAddNode(&c, child, NULL, NULL, 0, &p));
    OK(cudaGraphClone(&clone, g));
    OK(cudaGraphInstantiate(&exec, clone, 0));
    OK(cudaGraphLaunch(exec, s));
    SAME(5, value_at(64));
    end();
}

/* ---- kernel nodes: values, parameters, and every code ---- */

static const size_t COUNT = 1024;

/* The arguments of fill and add. */
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

static void run(cudaGraphExec_t exec, int first, int last)
{
    int back[1024];
    OK(cudaGraphLaunch(exec, s));
    OK(cudaMemcpyAsync(back, data, COUNT * sizeof(int), cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(first, back[0]);
    SAME(last, back[COUNT - 1]);
}

CASE(kernels_values)
{
    cudaGraphNode_t fill, add;
    enum cudaGraphNodeType type;
    struct cudaKernelNodeParams read, changed;
    begin();
    struct cudaKernelNodeParams one = params(kernel_fill(), data, 5, COUNT);
    OK(cudaGraphAddKernelNode(&fill, g, NULL, 0, &one));
    one = params(kernel_add(), data + 1, 2, COUNT - 1); /* The node has a copy of the arguments. */
    OK(cudaGraphAddKernelNode(&add, g, &fill, 1, &one));
    OK(cudaGraphNodeGetType(add, &type));
    SAME(cudaGraphNodeTypeKernel, type);
    cudaGraphExec_t exec = instantiated(g);
    run(exec, 5, 7);

    OK(cudaGraphKernelNodeGetParams(add, &read));
    SAME(1, read.func == kernel_add());
    SAME(4, read.gridDim.x);
    SAME(64, read.blockDim.x);
    SAME(1, *(int **)read.kernelParams[0] == data + 1);
    SAME(2, *(int *)read.kernelParams[1]);
    SAME(COUNT - 1, *(size_t *)read.kernelParams[2]);
    SAME(1, read.extra == NULL);

    /* A change of a node leaves the executable graph as it was, and the reverse. */
    changed = params(kernel_add(), data, 100, COUNT);
    OK(cudaGraphKernelNodeSetParams(add, &changed));
    run(exec, 5, 7);
    changed = params(kernel_fill(), data, 40, COUNT / 2);
    OK(cudaGraphExecKernelNodeSetParams(exec, add, &changed));
    run(exec, 40, 5);
    OK(cudaGraphKernelNodeGetParams(add, &read));
    SAME(100, *(int *)read.kernelParams[1]);
    OK(cudaGraphExecDestroy(exec));
    exec = instantiated(g);
    run(exec, 105, 105);

    /* The nodes are in another order than at the instantiation. */
    cudaGraphNode_t empty;
    OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));
    OK(cudaGraphAddDependencies(g, &empty, &fill, NULL, 1));
    cudaGraphExec_t second = instantiated(g);
    changed = params(kernel_fill(), data, 9, COUNT);
    OK(cudaGraphExecKernelNodeSetParams(exec, fill, &changed));
    run(exec, 109, 109);
    run(second, 105, 105);
    end();
}

/* A node with a changed pointer does not refer to what had that address when the node was made. */
CASE(kernels_changed_pointer)
{
    cudaGraphNode_t node;
    int *old, *newer;
    begin();
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
    end();
}

CASE(kernels_hold)
{
    cudaGraphNode_t node;
    volatile int *gate;
    begin();
    OK(cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped));
    *gate = 0;
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
    OK(cudaFreeHost((void *)gate));
    end();
}

/* A captured launch is a kernel node with the parameters that kernels.cu gives. */
CASE(kernels_captured)
{
    cudaGraphNode_t node;
    struct cudaKernelNodeParams read;
    begin();
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
    end();
}

CASE(kernels_refused)
{
    cudaGraph_t other;
    cudaGraphNode_t node, empty, elsewhere;
    begin();
    OK(cudaGraphCreate(&other, 0));
    struct cudaKernelNodeParams good = params(kernel_fill(), data, 1, COUNT), one = good;
    OK(cudaGraphAddKernelNode(&node, g, NULL, 0, &good));
    OK(cudaGraphAddKernelNode(&elsewhere, other, NULL, 0, &good));
    OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));
#define ADD(expected) IS(expected, cudaGraphAddKernelNode(&node, g, NULL, 0, &one))
    one.func = (void *)&arguments;
    ADD(cudaErrorInvalidResourceHandle);
    one.func = NULL;
    ADD(cudaErrorInvalidDeviceFunction);
    one = good;
    one.kernelParams = NULL;
    ADD(cudaErrorInvalidValue);
    one = good;
    one.extra = one.kernelParams;
    ADD(cudaErrorInvalidValue);
    one = good;
    one.gridDim.y = 0;
    ADD(cudaErrorInvalidValue);
    one = good;
    one.blockDim.x = 0;
    ADD(cudaErrorInvalidValue);
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
    end();
}

/* Two nodes that write the same bytes. With "incorrect" the edge between them is missing. */
static bool is_correct = true;

CASE(kernels_unordered)
{
    cudaGraphNode_t first, second;
    begin();
    struct cudaKernelNodeParams one = params(kernel_fill(), data, 1, COUNT);
    OK(cudaGraphAddKernelNode(&first, g, NULL, 0, &one));
    one = params(kernel_add(), data, 1, COUNT);
    OK(cudaGraphAddKernelNode(&second, g, &first, is_correct, &one));
    launched(g);
    end();
}

int main(int argc, char **argv)
{
    is_correct = argc < 3 || !strcmp(argv[2], "correct");
    return argc < 3 ? run_named(argc, argv) : run_case(argc, argv);
}
