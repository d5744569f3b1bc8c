/* Graphs and their memory nodes: building, launching, what is refused, how much memory is kept. One function for each rule. */
#include "expect.h"

#include "kernels.h"

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

static cudaGraphNode_t add_alloc(cudaGraph_t g, const cudaGraphNode_t *before, size_t bytes, void **address)
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

static cudaGraphNode_t add_memset(cudaGraph_t g, cudaGraphNode_t before, void *address, unsigned value, unsigned element, size_t width)
{
    struct cudaMemsetParams p = { .dst = address, .value = value, .elementSize = element, .width = width, .height = 1 };
    cudaGraphNode_t node;
    OK(cudaGraphAddMemsetNode(&node, g, &before, 1, &p));
    return node;
}

/* allocate, set every int, copy them to pinned memory, free (or not) */
static cudaGraph_t small_graph(void **address, int with_free)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&g, 0));
    node = add_alloc(g, NULL, 64 * MiB, address);
    node = add_memset(g, node, *address, 0x01020304, 4, 1024);
    OK(cudaGraphAddMemcpyNode1D(&node, g, &node, 1, pinned, *address, 4096, cudaMemcpyDeviceToHost));
    if (with_free) add_free(g, node, *address);
    return g;
}

static void nothing_left(void)
{
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(0, reserved());
    SAME(0, used());
}

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
    OK(cudaGraphDestroy(g));                                 /* the executable graph lives on */
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(x));
    SAME(0, used());                                         /* no graph is mapped */
    SAME(64, reserved());
    nothing_left();
}

static void refused(void)
{
    void *a, *plain, *b;
    cudaGraph_t g = small_graph(&a, 1), other, clone;
    cudaGraphExec_t x, y;
    cudaGraphNode_t node, nodes[4];
    size_t count = 4;
    OK(cudaMalloc(&plain, 64));
    OK(cudaGraphGetNodes(g, nodes, &count));
    OK(cudaGraphCreate(&other, 0));
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, &nodes[3], 1, a));       /* twice in its graph */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, other, NULL, 0, a));        /* in another graph as well */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, plain));        /* no allocation node's */
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, (char *)a + 512));
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, &a));
    IS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, other, &nodes[0], 1));        /* another graph's node */
    IS(cudaErrorInvalidValue, cudaGraphAddDependencies(g, &nodes[0], &nodes[1], NULL, 1));       /* the edge is there */
    struct cudaMemsetParams past = { .dst = (char *)a + 32 * MiB, .elementSize = 1, .width = 33 * MiB, .height = 1 };
    IS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, g, &nodes[0], 1, &past));
    IS(cudaErrorInvalidValue, cudaGraphClone(&clone, g));
    OK(cudaGraphInstantiate(&x, g, 0));
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&y, g, 0));       /* one executable graph at a time */
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&y, g, 0));
    OK(cudaGraphExecDestroy(y));
    IS(cudaErrorInvalidValue, cudaMemsetAsync(a, 0, 4, s));          /* before any launch there is no memory */
    IS(cudaErrorInvalidValue, cudaFreeAsync(a, s));
    add_alloc(other, NULL, 64, &b);
    OK(cudaGraphAddMemFreeNode(&node, other, NULL, 0, b));
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&y, other, 0));   /* a free that does not come after its allocation */
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEmptyNode(&nodes[0], g, NULL, 0));
    OK(cudaGraphAddEmptyNode(&nodes[1], g, &nodes[0], 1));
    OK(cudaGraphAddDependencies(g, &nodes[1], &nodes[0], NULL, 1));
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&y, g, 0));       /* round in a circle */
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
    IS(cudaErrorInvalidValue, cudaGraphLaunch(x, s));                /* its block is not freed */
    OK(launch_add(a, 1, 1024, s));                                   /* usable after the launch */
    OK(cudaMemcpyAsync(pinned, a, 4096, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(0x01020305, pinned[1000]);
    OK(cudaDeviceGraphMemTrim(0));
    SAME(64, reserved());                                            /* a live block keeps its memory */
    OK(cudaFreeAsync(a, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    SAME(0x01020304, pinned[1000]);
    OK(cudaFree(a));
    IS(cudaErrorInvalidValue, cudaFree(a));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(x, s));
    SAME(64, reserved());
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));                                         /* frees nothing */
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
    IS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, g, NULL, 0, a));    /* no more in its own */
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphInstantiate(&y, other, 0));
    IS(cudaErrorInvalidValue, cudaGraphLaunch(y, s));                /* not allocated yet */
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphLaunch(x, s));
        OK(cudaGraphLaunch(y, s));
    }
    IS(cudaErrorInvalidValue, cudaFreeAsync(a, s));                  /* freed already */
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(other));
    nothing_left();
}

/* Which addresses are given out again. */
static void addresses(void)
{
    cudaGraph_t g;
    cudaGraphNode_t a, b, freed, beside;
    void *p, *q, *r, *u;
    OK(cudaGraphCreate(&g, 0));
    a = add_alloc(g, NULL, MiB, &p);
    beside = add_alloc(g, NULL, MiB, &q);
    SAME(1, p != q);
    freed = add_free(g, a, p);
    b = add_alloc(g, &freed, MiB / 2, &r);
    SAME(1, r == p);                                         /* after the free */
    add_free(g, b, r);
    add_alloc(g, &beside, MiB, &u);
    SAME(1, u != p && u != q);                               /* not after it: the address may still be in use */
    OK(cudaGraphDestroy(g));
}

/* The footprint: graphs in one stream share memory, graphs side by side do not. */
static void footprint(void)
{
    enum { COUNT = 4 };
    void *a[COUNT];
    cudaGraph_t g[COUNT];
    cudaGraphExec_t x[COUNT];
    cudaStream_t streams[COUNT];
    for (int i = 0; i < COUNT; i++) {
        g[i] = small_graph(&a[i], 1);
        OK(cudaGraphInstantiate(&x[i], g[i], 0));
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        SAME(1, i == 0 || a[i] != a[i - 1]);
    }
    SAME(0, reserved());
    for (int i = 0; i < COUNT; i++) {
        OK(cudaGraphLaunch(x[i], s));
        SAME(64, reserved());
    }
    OK(cudaStreamSynchronize(s));
    nothing_left();
    OK(cudaGraphUpload(x[0], s));                            /* memory comes with the upload */
    SAME(64, reserved());
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(0, reserved());
    OK(cudaGraphUpload(x[0], s));
    OK(cudaStreamSynchronize(s));
    pinned[2048] = 0;
    for (int i = 0; i < COUNT; i++) {                        /* held back, they would run at the same time */
        OK(launch_hold(pinned + 2048, streams[i]));
        OK(cudaGraphLaunch(x[i], streams[i]));
        if (i == 0) SAME(64, reserved());
        OK(cudaEventRecord(event, streams[i]));
        if (i == 1) {                                        /* ordered after the one before: shares */
            SAME(128, reserved());
            OK(cudaStreamWaitEvent(t, event, 0));
        }
    }
    SAME(256, reserved());
    OK(cudaGraphLaunch(x[1], t));
    SAME(256, reserved());
    SAME(256, used());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(256, reserved());                                   /* all of it is in use */
    pinned[2048] = 1;
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++) {
        OK(cudaStreamDestroy(streams[i]));
        OK(cudaGraphExecDestroy(x[i]));
        OK(cudaGraphDestroy(g[i]));
    }
    SAME(256, reserved());
    nothing_left();
    SAME(256, figure(cudaGraphMemAttrReservedMemHigh));
    uint64_t zero = 0, one = 1;
    IS(cudaErrorInvalidValue, cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &one));
    IS(cudaErrorInvalidValue, cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &zero));
    IS(cudaErrorInvalidDevice, cudaDeviceSetGraphMemAttribute(99, cudaGraphMemAttrReservedMemHigh, &zero));
    IS(cudaErrorInvalidDevice, cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrReservedMemHigh, &zero));
    IS(cudaErrorInvalidValue, cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &zero));
    IS(cudaErrorInvalidValue, cudaDeviceGraphMemTrim(99));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
    SAME(0, figure(cudaGraphMemAttrReservedMemHigh));
}

/* Branches of a captured graph run, join, and are ordered with the stream of the launch. */
static void branches(void)
{
    int *data;
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t node;
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
        OK(cudaMemsetAsync(data, 0, 3 * MiB, t));            /* t before, s after the launch */
        OK(cudaGraphLaunch(x, t));
        OK(cudaMemcpyAsync(pinned + 2, data + MiB / 2, 4, cudaMemcpyDeviceToHost, t));
        OK(cudaStreamSynchronize(t));
        SAME(11, pinned[0]);
        SAME(21, pinned[1]);
        SAME(1, pinned[2]);
    }
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphCreate(&g, 0));                              /* an event node and host memory */
    OK(cudaGraphAddEventRecordNode(&node, g, NULL, 0, event));
    OK(cudaGraphInstantiateWithFlags(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaEventSynchronize(event));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(data));
}

static void by_one_function(void)
{
    cudaGraph_t g, clone;
    cudaGraphExec_t x;
    struct cudaGraphNodeParams p;
    cudaGraphNode_t node, last;
    void *a;
    unsigned long long flags = 9;
    OK(cudaGraphCreate(&g, 0));
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeMemAlloc;
    p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    p.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    p.alloc.bytesize = MiB;
    OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
    a = p.alloc.dptr;
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeMemset;
    p.memset.dst = a;
    p.memset.value = 0x0102;
    p.memset.elementSize = 2;
    p.memset.width = MiB / 2;
    p.memset.height = 1;
    OK(cudaGraphAddNode(&last, g, &node, NULL, 1, &p));
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeMemcpy;
    p.memcpy.copyParams.srcPtr.ptr = a;
    p.memcpy.copyParams.dstPtr.ptr = pinned;
    p.memcpy.copyParams.extent = (struct cudaExtent){ 4, 1, 1 };
    p.memcpy.copyParams.kind = cudaMemcpyDefault;
    OK(cudaGraphAddNode(&node, g, &last, NULL, 1, &p));
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeMemFree;
    p.free.dptr = a;
    OK(cudaGraphAddNode(&last, g, &node, NULL, 1, &p));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphExecGetFlags(x, &flags));
    SAME(0, flags);
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    SAME(0x01020102, *pinned);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEmptyNode(&node, g, NULL, 0));
    OK(cudaGraphClone(&clone, g));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphInstantiate(&x, clone, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(clone));
}

/* Destroyed while it runs: the work goes on to its end. */
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

/* With SIM_MEMORY=64M. */
static void no_memory(void)
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

int main(int argc, char **argv)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMallocHost((void **)&pinned, MiB));
    if (argc > 1 && !strcmp(argv[1], "no_memory")) {
        no_memory();
        OK(cudaFreeHost(pinned));
        if (!wrong) puts("all as expected");
        return wrong;
    }
    built_by_hand();
    refused();
    unfreed();
    freed_by_another_graph();
    addresses();
    footprint();
    branches();
    by_one_function();
    destroyed_early();
    OK(cudaFreeHost(pinned));
    if (!wrong) puts("all as expected");
    return wrong;
}
