/* Records, with two GPUs, what calls answer about memory, streams, events and nodes of the GPU that
 * is not current, or to which it has no access. Random calls found these. */
#include "virtual.h"

#include <cuda_runtime.h>

static cudaStream_t far; /* of GPU 1, like all that is far */
static char *near_plain, *far_plain, *near_pooled, *far_pooled, *managed;
static cudaEvent_t far_event;
static cudaGraph_t graph;
static cudaGraphExec_t exec;
static cudaGraphNode_t node, copy;
static unsigned char small[64];

static void make_on(int device, cudaStream_t stream, char **plain, char **pooled)
{
    cudaMalloc((void **)plain, 4096);
    cudaMallocAsync((void **)pooled, 4096, stream);
    cudaMemsetAsync(*plain, device + 1, 4096, stream);
    cudaMemsetAsync(*pooled, device + 3, 4096, stream);
    cudaStreamSynchronize(stream);
}

static void set_up(void)
{
    make_on(0, s, &near_plain, &near_pooled);
    cudaMallocManaged((void **)&managed, 4096, cudaMemAttachGlobal);
    at = reserve(STEP);
    map(at, make(STEP, on_device()), STEP);
    cudaSetDevice(1);
    cudaStreamCreate(&far);
    cudaEventCreate(&far_event);
    make_on(1, far, &far_plain, &far_pooled);
    cudaSetDevice(0);
    cudaGraphCreate(&graph, 0);
}

static void make_current(int device)
{
    NOTE("GPU %d is current", device);
    cudaSetDevice(device);
}

static void open_mapped(int device, int flags)
{
    CUmemAccessDesc d = access_of(DEVICE, device, flags);
    NOTE("mapped memory of GPU 0 is open for GPU %d with %d", device, flags);
    ASK(cuMemSetAccess, at, STEP, &d, 1);
}

/* Whose access does a copy need, and whose a memset? */
CASE_AFTER(set_up, copies)
{
    for (int device = 0; device < 2; device++) {
        make_current(device);
        RECORD(cudaMemcpyAsync(near_pooled, near_plain, 64, cudaMemcpyDefault, far));
        RECORD(cudaMemcpyAsync(near_plain, near_pooled, 64, cudaMemcpyDefault, s));
        RECORD_SYNC(cudaMemsetAsync(near_pooled, 3, 64, far), far);
        RECORD_SYNC(cudaMemsetAsync(near_pooled, 3, 64, s), s);
    }
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaMemcpyPeerAsync(near_pooled, 1, far_pooled, 0, 64, s));
    RECORD(cudaStreamEndCapture(s, &graph));
    RECORD(cudaStreamAttachMemAsync(cudaStreamPerThread, managed, 0, cudaMemAttachSingle));
    RECORD(
        cudaMemAdvise(managed, 4096, cudaMemAdviseUnsetPreferredLocation, location_of(DEVICE, 7)));
}

CASE_AFTER(set_up, mapped)
{
    for (int device = 0; device < 2; device++) {
        open_mapped(!device, 3 - 2 * device);
        RECORD(cudaMemcpyPeer((void *)at, device, near_plain, 0, 64));
        RECORD(cudaMemcpyPeer((void *)at, !device, near_plain, 0, 64));
        RECORD(cudaMemcpyPeer(near_plain, 0, (void *)at, device, 64));
    }
}

CASE_AFTER(set_up, arrays)
{
    struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    struct cudaMemcpy3DPeerParms p = {.srcPtr = make_cudaPitchedPtr(far_plain, 16, 16, 4),
                                      .srcDevice = 1,
                                      .extent = make_cudaExtent(16, 4, 1)};
    cudaMallocArray(&p.dstArray, &d, 16, 4, 0);
    for (p.dstDevice = 0; p.dstDevice < 3; p.dstDevice++)
        RECORD_SYNC(cudaMemcpy3DPeerAsync(&p, s), s);
    RECORD(cudaMemcpy2DFromArray(small, 16, p.dstArray, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
    NOTE("value %d", small[63]);
    p.dstDevice = 7;
    p.extent.depth = 0;
    RECORD(cudaMemcpy3DPeerAsync(&p, s));
}

static void ask_pointer(const char *what, void *p)
{
    struct cudaPointerAttributes x = {.device = 9};
    CUdeviceptr start = 0;
    unsigned flags = 9;
    void *there = NULL;
    cudaPointerGetAttributes(&x, p);
    NOTE("%s: GPU %d, %s", what, x.device, x.devicePointer ? "an address" : "no address");
    ASK(cuMemGetAddressRange, &start, NULL, (CUdeviceptr)p);
    ASK(cuPointerGetAttribute, &start, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)p);
    ASK(cuPointerGetAttribute, &flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, (CUdeviceptr)p);
    NOTE("access %u", flags);
    RECORD(cudaHostGetDevicePointer(&there, p, 0));
    RECORD(cudaHostGetFlags(&flags, p));
    NOTE("flags %u", flags);
}

CASE_AFTER(set_up, pointers)
{
    open_mapped(1, 3);
    for (int device = 0; device < 2; device++) {
        make_current(device);
        ask_pointer("cudaMalloc", near_plain);
        ask_pointer("a pool", near_pooled);
        ask_pointer("mapped", (void *)at);
    }
}

static void add_memset(void *to)
{
    struct cudaMemsetParams p = {.dst = to, .elementSize = 1, .width = 64, .height = 1, .value = 7};
    RECORD(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &p));
}

/* Whose access does a node need when it is added, and when it runs? */
CASE_AFTER(set_up, nodes)
{
    struct cudaMemAllocNodeParams p = {.poolProps = pool_props(PINNED, DEVICE, 1), .bytesize = 64};
    RECORD(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    for (int device = 0; device < 2; device++) {
        make_current(device);
        add_memset(p.dptr);
        RECORD(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, managed, p.dptr, 64, 4));
        cudaGraphCreate(&graph, 0);
        add_memset(far_pooled);
        RECORD(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, managed, far_pooled, 64, 4));
        add_memset(far_plain);
        RECORD(cudaGraphInstantiate(&exec, graph, 0));
        RECORD_SYNC(cudaGraphLaunch(exec, s), s);
        RECORD_SYNC(cudaGraphLaunch(exec, far), far);
    }
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaMemsetAsync(far_plain, 1, 64, s));
    RECORD(cudaStreamEndCapture(s, &graph));
    RECORD(cudaGraphInstantiate(&exec, graph, 0));
}

static void change_to(void *to, void *from)
{
    struct cudaMemsetParams p = {.dst = to, .elementSize = 1, .width = 64, .height = 1};
    RECORD(cudaGraphExecMemsetNodeSetParams(exec, node, &p));
    RECORD(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, to, from, 64, 4));
}

/* Which memory may a node have instead of cudaMalloc's of GPU 0? */
CASE_AFTER(set_up, updates)
{
    RECORD(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, near_plain, near_plain + 64, 64, 4));
    add_memset(near_plain);
    RECORD(cudaGraphInstantiate(&exec, graph, 0));
    for (int device = 0; device < 2; device++) {
        make_current(device);
        change_to(near_plain, near_plain + 64);
        change_to(near_pooled, near_plain);
        change_to(managed, near_plain);
        change_to(far_plain, far_plain);
        change_to(far_pooled, far_pooled);
    }
}

/* Which of two wrong entries is told? */
static void ask_list(int a0, int f0, int a1, int f1)
{
    struct cudaMemAccessDesc d[] = {{location_of(DEVICE, a0), (enum cudaMemAccessFlags)f0},
                                    {location_of(DEVICE, a1), (enum cudaMemAccessFlags)f1}};
    struct cudaMemAllocNodeParams p = {
        .poolProps = device_props(), .accessDescs = d, .accessDescCount = 2, .bytesize = 64};
    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    NOTE("%d: %d, %d: %d", a0, f0, a1, f1);
    RECORD(cudaMemPoolSetAccess(pool, d, 2));
    RECORD(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
}

CASE_AFTER(set_up, lists)
{
    ask_list(1, 2, 0, 1);
    ask_list(1, 2, 7, 3);
    ask_list(0, 0, 1, 2);
    ask_list(0, 0, 1, 1);
    ask_list(7, 3, 1, 1);
    cudaMemPool_t with_handles = shared_pool(0);
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaMallocFromPoolAsync(&a, 64, with_handles, s));
    RECORD(cudaStreamEndCapture(s, &graph));
}

/* Which of two errors is told, and what ends a capture. */
CASE_AFTER(set_up, events)
{
    cudaEvent_t shared_event;
    float time;
    int device;
    cudaEventCreateWithFlags(&shared_event, cudaEventInterprocess | cudaEventDisableTiming);
    RECORD(cudaEventRecordWithFlags(far_event, s, cudaEventRecordExternal));
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaEventRecord(ev, s));
    RECORD(cudaStreamEndCapture(s, &graph));
    RECORD(cudaEventElapsedTime(&time, ev, far_event));
    RECORD(cudaEventElapsedTime(&time, far_event, ev));
    RECORD(cudaStreamWaitEvent(s, ev, cudaEventWaitExternal));
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaStreamWaitEvent(s, ev, cudaEventWaitExternal));
    RECORD(cudaEventRecord(far_event, s));
    RECORD(cudaStreamEndCapture(s, &graph));
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaStreamWaitEvent(s, shared_event, 0));
    RECORD(cudaStreamEndCapture(s, &graph));
    for (int driver = 0; driver < 2; driver++) {
        RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        if (driver)
            ASK(cuStreamGetDevice, s, &device);
        else
            RECORD(cudaStreamGetDevice(s, &device));
        RECORD(cudaStreamEndCapture(s, &graph));
    }
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
    RECORD(cudaDeviceDisablePeerAccess(1));
    RECORD(cudaStreamEndCapture(s, &graph));
}

static void note_flags(void)
{
    for (int device = 0; device < 2; device++) {
        unsigned flags = 77;
        int active = 9;
        DRIVER(cuDevicePrimaryCtxGetState)(device, &flags, &active);
        NOTE("GPU %d: %#x, %s", device, flags, active ? "active" : "not active");
    }
}

CASE_AFTER(set_up, flags)
{
    unsigned flags = 77;
    RECORD(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    note_flags();
    make_current(1);
    RECORD(cudaGetDeviceFlags(&flags));
    NOTE("%#x", flags);
    RECORD(cudaInitDevice(1, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid));
    note_flags();
    RECORD(cudaDeviceReset());
    note_flags();
    RECORD(cudaInitDevice(1, 0, 0));
    note_flags();
}

/* What access is left after a reset of GPU 1? */
CASE_AFTER(set_up, resets)
{
    cudaMemPool_t near_pool;
    cudaDeviceGetDefaultMemPool(&near_pool, 0);
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
    make_current(1);
    RECORD(cudaDeviceEnablePeerAccess(0, 0));
    RECORD(give_access(near_pool, location_of(DEVICE, 1), 3));
    RECORD(cudaDeviceReset());
    RECORD(cudaMemset(near_pooled, 1, 64));
    NOTE("access %d", pool_access(near_pool, 1));
    RECORD(cudaDeviceDisablePeerAccess(0));
    make_current(0);
    RECORD(cudaDeviceDisablePeerAccess(1));
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
