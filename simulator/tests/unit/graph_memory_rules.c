/* The memory of graphs: which addresses nodes get, and how much memory launches take and keep. One
 * function for each rule. */
#include "graphs.h"

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
    SAME(1, r == p); /* after the free */
    add_free(g, b, r);
    add_alloc(g, &beside, MiB, &u);
    /* Not after it, so the address may still be in use. */
    SAME(1, u != p && u != q);
    OK(cudaGraphDestroy(g));
}

/* The smallest of several free pieces that is large enough, or else new addresses. */
static void pieces(void)
{
    cudaGraph_t g;
    cudaGraphNode_t n, freed, branch, both[2], joined;
    char *p, *q, *r, *u, *v;
    OK(cudaGraphCreate(&g, 0));
    n = add_alloc(g, NULL, 4 * MiB, (void **)&p);
    n = add_alloc(g, &n, MiB, (void **)&q); /* between the two */
    n = add_alloc(g, &n, MiB, (void **)&r);
    n = add_alloc(g, &n, MiB, (void **)&q);
    n = add_free(g, add_free(g, n, p), r);
    n = add_alloc(g, &n, MiB, (void **)&u);
    SAME(1, u == r);
    /* Too large for every free piece, and does not begin in one. */
    n = add_alloc(g, &n, 8 * MiB, (void **)&v);
    SAME(1, v == q + MiB);
    OK(cudaGraphDestroy(g));
    /* Neighbors are one piece if one free comes after the other. */
    for (int in_line = 0; in_line < 2; in_line++) {
        OK(cudaGraphCreate(&g, 0));
        n = add_alloc(g, NULL, MiB, (void **)&p);
        n = add_alloc(g, &n, MiB, (void **)&q);
        both[0] = freed = add_free(g, n, p);
        both[1] = branch = add_free(g, in_line ? freed : n, q);
        OK(cudaGraphAddEmptyNode(&joined, g, both, 2));
        add_alloc(g, &joined, 2 * MiB, (void **)&r);
        SAME(in_line, r == p);
        SAME(!in_line, r == p + 2 * MiB);
        OK(cudaGraphDestroy(g));
    }
}

/* A launch takes over memory in its own stream, or when the other launch is over. No event makes it
 * do so. */
static void sharing(void)
{
    void *a;
    cudaGraph_t g[2] = {small_graph(&a, 1), small_graph(&a, 1)};
    cudaGraphExec_t x[2];
    for (int i = 0; i < 2; i++)
        OK(cudaGraphInstantiate(&x[i], g[i], 0));
    pinned[2048] = 0;
    OK(launch_hold(pinned + 2048, s));
    OK(cudaGraphLaunch(x[0], s));
    OK(cudaEventRecord(event, s));
    OK(cudaStreamWaitEvent(t, event, 0));
    OK(cudaGraphLaunch(x[1], t));
    SAME(128, reserved());
    pinned[2048] = 1;
    nothing_left();
    OK(cudaGraphLaunch(x[0], s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphLaunch(x[1], t));
    SAME(64, reserved());
    nothing_left();
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphExecDestroy(x[i]));
        OK(cudaGraphDestroy(g[i]));
    }
}

/* A free that is not ordered after its allocation: after the launch the block is freed all the
 * same. */
static void free_first(void)
{
    void *a;
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t node, freed;
    OK(cudaGraphCreate(&g, 0));
    node = add_alloc(g, NULL, MiB, &a);
    OK(cudaGraphAddMemFreeNode(&freed, g, NULL, 0, a));
    OK(cudaGraphAddDependencies(g, &freed, &node, NULL, 1));
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 2; i++)
        OK(cudaGraphLaunch(x, s));
    IS(cudaErrorInvalidValue, cudaFreeAsync(a, s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    nothing_left();
}

/* Where nodes allocate, and which kind of memory. */
static void places(void)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    struct cudaMemAllocNodeParams p;
    static const enum cudaMemLocationType locations[] = {
        cudaMemLocationTypeNone, cudaMemLocationTypeDevice, cudaMemLocationTypeHost,
        cudaMemLocationTypeHostNuma, cudaMemLocationTypeHostNumaCurrent};
    static const cudaError_t pinned_answers[] = {cudaErrorInvalidValue, cudaSuccess,
                                                 cudaErrorNotSupported, cudaErrorNotSupported,
                                                 cudaErrorInvalidValue};
    static const cudaError_t managed_answers[] = {cudaErrorNotSupported, cudaSuccess,
                                                  cudaErrorNotSupported, cudaErrorNotSupported,
                                                  cudaErrorNotSupported};
    OK(cudaGraphCreate(&g, 0));
    memset(&p, 0, sizeof p);
    p.bytesize = MiB;
    for (int i = 0; i < 5; i++) {
        p.poolProps.location.type = locations[i];
        p.poolProps.allocType = cudaMemAllocationTypePinned;
        IS(pinned_answers[i], cudaGraphAddMemAllocNode(&node, g, NULL, 0, &p));
        p.poolProps.allocType = cudaMemAllocationTypeManaged;
        IS(managed_answers[i], cudaGraphAddMemAllocNode(&node, g, NULL, 0, &p));
    }
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    IS(cudaErrorNotSupported, cudaGraphAddMemAllocNode(&node, g, NULL, 0, &p));
    OK(cudaGraphDestroy(g));
}

/* The footprint: graphs in one stream share memory, and parallel ones do not. */
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
    OK(cudaGraphUpload(x[0], s)); /* memory comes with the upload */
    SAME(64, reserved());
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(0, reserved());
    OK(cudaGraphUpload(x[0], s));
    OK(cudaStreamSynchronize(s));
    pinned[2048] = 0;
    /* Held back, they would run at the same time. */
    for (int i = 0; i < COUNT; i++) {
        OK(launch_hold(pinned + 2048, streams[i]));
        OK(cudaGraphLaunch(x[i], streams[i]));
        if (i == 0)
            SAME(64, reserved());
        OK(cudaEventRecord(event, streams[i]));
        /* Ordered after the previous launch, so it shares. */
        if (i == 1) {
            SAME(128, reserved());
            OK(cudaStreamWaitEvent(t, event, 0));
        }
    }
    SAME(256, reserved());
    OK(cudaGraphLaunch(x[1], t));
    SAME(256, reserved());
    SAME(256, used());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(256, reserved()); /* all of it is in use */
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
    IS(cudaErrorInvalidValue,
       cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &one));
    IS(cudaErrorInvalidValue,
       cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &zero));
    IS(cudaErrorInvalidDevice,
       cudaDeviceSetGraphMemAttribute(99, cudaGraphMemAttrReservedMemHigh, &zero));
    IS(cudaErrorInvalidDevice,
       cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrReservedMemHigh, &zero));
    IS(cudaErrorInvalidValue,
       cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &zero));
    IS(cudaErrorInvalidDevice, cudaDeviceGraphMemTrim(99));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
    SAME(0, figure(cudaGraphMemAttrReservedMemHigh));
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

/* With SIM_MEMORY=96M. A launch of a graph fails while an earlier launch of it is pending: that one
 * keeps its memory. */
static void no_memory_for_another(void)
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
    /* In another stream it may not; there is one step more, and two are wanted. */
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

int main(int argc, char **argv)
{
    set_up();
    if (argc > 1 && !strcmp(argv[1], "no_memory_for_another")) {
        no_memory_for_another();
    } else if (argc > 1 && !strcmp(argv[1], "no_memory")) {
        no_memory();
    } else {
        addresses();
        pieces();
        places();
        sharing();
        free_first();
        footprint();
    }
    return tear_down();
}
