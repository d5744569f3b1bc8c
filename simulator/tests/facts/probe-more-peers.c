/* Records, with two GPUs, what no other probe asks about: what the link between them can do;
 * virtual memory that either may use; memory of cudaMalloc that an importer opens on the GPU that
 * does not have it; copies of slices that name their GPUs; arrays, textures, kernels, and
 * conditional nodes of the GPU that is not current. */
#include "virtual.h"

#include <cuda_runtime.h>

static void *far_memory; /* 1 MiB of GPU 1 */
static cudaIpcMemHandle_t handle;

/* ---- the link ---- */

static void ask_link(int from, int to)
{
    NOTE("from %d to %d", from, to);
    for (int i = 0; i <= 7; i++) {
        int value = 99, of_driver = 99;
        cudaError_t e = cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)i, from, to);
        CUresult r =
            DRIVER(cuDeviceGetP2PAttribute)(&of_driver, (CUdevice_P2PAttribute)i, from, to);
        NOTE("attribute %d: %s, %d; result %d, %d", i, cudaGetErrorName(e), value, (int)r,
             of_driver);
    }
    cudaGetLastError();
}

CASE(attributes_of_the_link)
{
    cudaFree(0);
    ask_link(0, 1);
    ask_link(1, 0);
    ask_link(0, 0);
    ask_link(1, 1);
    ask_link(0, 2);
    ask_link(2, 0);
    ask_link(2, 2);
    ask_link(-1, 0);
    ask_link(0, -1);
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
    ask_link(0, 1);
    RECORD(cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 1));
    ASK(cuDeviceGetP2PAttribute, NULL, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1);
}

static enum cudaAtomicOperation operations[14];
static unsigned can[14], of_driver[14];

static void set_up_atomics(void)
{
    cudaFree(0);
    for (int i = 0; i < 14; i++)
        operations[i] = (enum cudaAtomicOperation)i;
}

static void ask_atomics(int from, int to)
{
    memset(can, 0x7f, sizeof can);
    memset(of_driver, 0x7f, sizeof of_driver);
    NOTE("from %d to %d", from, to);
    RECORD(cudaDeviceGetP2PAtomicCapabilities(can, operations, 13, from, to));
    ASK(cuDeviceGetP2PAtomicCapabilities, of_driver, (CUatomicOperation *)operations, 13, from, to);
    for (int i = 0; i < 14; i++)
        NOTE("operation %d: %#x, %#x", i, can[i], of_driver[i]);
    RECORD(cudaDeviceGetP2PAtomicCapabilities(can, operations, 14, from, to));
    RECORD(cudaDeviceGetP2PAtomicCapabilities(can, operations, 0, from, to));
}

CASE_AFTER(set_up_atomics, atomics_of_the_link)
{
    ask_atomics(0, 1);
    ask_atomics(1, 0);
    ask_atomics(0, 0);
    ask_atomics(0, 2);
    ask_atomics(-1, 0);
    memset(can, 0x7f, sizeof can);
    NOTE("with the host");
    RECORD(cudaDeviceGetHostAtomicCapabilities(can, operations, 13, 0));
    for (int i = 0; i < 14; i++)
        NOTE("operation %d: %#x", i, can[i]);
    RECORD(cudaDeviceGetHostAtomicCapabilities(can, operations, 14, 0));
    RECORD(cudaDeviceGetHostAtomicCapabilities(can, operations, 0, 0));
    RECORD(cudaDeviceGetHostAtomicCapabilities(can, operations, 13, 2));
    RECORD(cudaDeviceGetP2PAtomicCapabilities(NULL, operations, 13, 0, 1));
    RECORD(cudaDeviceGetP2PAtomicCapabilities(can, NULL, 13, 0, 1));
}

/* ---- virtual memory ---- */

static void note_access(int device)
{
    CUmemLocation where = place_of(DEVICE, device);
    unsigned long long flags = 99;
    CUresult r = DRIVER(cuMemGetAccess)(&flags, &where, at);
    NOTE("access of GPU %d: result %d, %llu", device, (int)r, flags);
}

static void open_for(int device, int flags)
{
    CUmemAccessDesc d = access_of(DEVICE, device, flags);
    NOTE("opened for GPU %d with %d", device, flags);
    ASK(cuMemSetAccess, at, 2 * STEP, &d, 1);
    note_access(0);
    note_access(1);
}

/* Maps two steps of memory of the one GPU, and opens them for the other or the same. */
static void make_virtual(int owner, int user)
{
    cudaFree(0);
    at = reserve(2 * STEP);
    map(at, make(2 * STEP, props_of(PINNED, DEVICE, owner)), 2 * STEP);
    note_access(0);
    note_access(1);
    open_for(user, 3);
}

/* What the host does with the memory while GPU `device` is current, in a stream of that GPU. */
static void use_virtual(int device)
{
    int value = 0;
    cudaStream_t own;
    cudaSetDevice(device);
    cudaStreamCreate(&own);
    NOTE("GPU %d is current", device);
    print_pointer((void *)at, "");
    ASK(cuMemsetD8, at, 5, 2 * STEP);
    ASK(cuMemsetD8Async, at, 6, 2 * STEP, own);
    ASK(cuMemcpyDtoH, &value, at, 4);
    ASK(cuMemcpyHtoDAsync, at, &value, 4, own);
    RECORD(cudaMemcpyPeer((void *)at, device, (void *)(at + STEP), device, 4));
    RECORD(cudaMemcpyPeer((void *)at, !device, (void *)(at + STEP), !device, 4));
    RECORD_SYNC(cudaMemset((void *)at, 5, 4), own);
}

static void launch_virtual(int device)
{
    cudaStream_t own;
    int value = 0;
    cudaSetDevice(device);
    cudaStreamCreate(&own);
    NOTE("a kernel of GPU %d", device);
    RECORD_SYNC(launch_fill((int *)at, 7, 4, own), own);
    RECORD(cudaMemcpy(&value, (void *)at, sizeof value, cudaMemcpyDefault));
    NOTE("value %d", value);
}

CASE(opened_for_both)
{
    make_virtual(0, 0);
    open_for(1, 3);
    use_virtual(0);
    use_virtual(1);
    launch_virtual(0);
    launch_virtual(1);
    open_for(1, 1);
    open_for(1, 0);
    use_virtual(1);
    launch_virtual(1);
}

CASE(opened_for_the_owner)
{
    make_virtual(0, 0);
    use_virtual(1);
    RECORD(cudaDeviceEnablePeerAccess(0, 0));
    note_access(1);
    launch_virtual(1);
}

CASE(opened_for_the_other)
{
    make_virtual(0, 1);
    use_virtual(1);
    launch_virtual(1);
    use_virtual(0);
    launch_virtual(0);
}

/* Memory of GPU 1 that is made, mapped, and opened while GPU 0 is current. */
CASE(owned_by_gpu_1)
{
    make_virtual(1, 1);
    use_virtual(0);
    open_for(0, 3);
    use_virtual(0);
    launch_virtual(0);
    launch_virtual(1);
}

CASE(read_only_for_the_other)
{
    make_virtual(0, 0);
    open_for(1, 1);
    use_virtual(1);
    launch_virtual(1);
}

/* Two memories, each open for its own GPU alone. */
CASE(copied_between)
{
    make_virtual(0, 0);
    CUdeviceptr near_memory = at;
    ASK(cuMemsetD8, at, 5, 2 * STEP);
    make_virtual(1, 1);
    ASK(cuMemcpy, at, near_memory, STEP);
    ASK(cuMemcpyDtoD, at, near_memory, STEP);
    RECORD(cudaMemcpyPeer((void *)at, 1, (void *)near_memory, 0, STEP));
    RECORD(cudaMemcpyPeer((void *)at, 0, (void *)near_memory, 1, STEP));
    RECORD(cudaMemcpy((void *)at, (void *)near_memory, STEP, cudaMemcpyDefault));
    read_first();
    cudaSetDevice(1);
    read_first();
}

static void send_virtual(void)
{
    cudaFree(0);
    at = reserve(2 * STEP);
    memory h = make(2 * STEP, shared());
    map(at, h, 2 * STEP);
    open_for(0, 3);
    ASK(cuMemsetD8, at, 7, 2 * STEP);
    RECORD(cudaDeviceSynchronize());
    send_memory_handle(h);
    await_turn();
    read_first();
}

IMPORTER(opened_by_another_process, send_virtual)
{
    int fd = receive_descriptor();
    cudaSetDevice(1);
    cudaFree(0);
    at = reserve(2 * STEP);
    memory h = import_memory(fd);
    CUmemAllocationProp got = ask_properties(h);
    NOTE("location %d %d", (int)got.location.type, got.location.id);
    map(at, h, 2 * STEP);
    open_for(1, 3);
    use_virtual(1);
    launch_virtual(1);
    pass_turn();
}

/* ---- memory of another process ---- */

static void send_memory(void)
{
    cudaMalloc(&a, MiB);
    cudaMemset(a, 7, MiB);
    cudaDeviceSynchronize();
    RECORD(cudaIpcGetMemHandle(&handle, a));
    send_bytes(&handle, sizeof handle);
    await_turn();
    cudaMemcpy(&host, a, 4, cudaMemcpyDeviceToHost);
    NOTE("the exporter finds %#x", (unsigned)(uintptr_t)host);
}

static void note_where(const void *p)
{
    struct cudaPointerAttributes x = {.device = 0};
    RECORD(cudaPointerGetAttributes(&x, p));
    NOTE("type %d, device %d", (int)x.type, x.device);
}

static void receive_and_open(int device)
{
    receive_bytes(&handle, sizeof handle);
    cudaSetDevice(device);
    RECORD(cudaIpcOpenMemHandle(&q, handle, cudaIpcMemLazyEnablePeerAccess));
}

static void use(int device)
{
    int value = 0;
    cudaStream_t own;
    cudaSetDevice(device);
    NOTE("GPU %d", device);
    cudaStreamCreate(&own);
    RECORD(cudaMemcpy(&value, q, sizeof value, cudaMemcpyDeviceToHost));
    NOTE("value %#x", (unsigned)value);
    RECORD(cudaMemsetAsync(q, device + 1, 4, own));
    RECORD_SYNC(launch_add(q, 1, 1, own), own);
}

/* Is the memory of GPU 0 opened where GPU 1 is current? May both use it, and is there peer access
 * then that the program has not opened? */
IMPORTER(opened_on_gpu_1, send_memory)
{
    int can = -1;
    receive_and_open(1);
    if (q) {
        note_where(q);
        use(1);
    }
    RECORD(cudaDeviceCanAccessPeer(&can, 1, 0));
    NOTE("%d", can);
    RECORD(cudaDeviceEnablePeerAccess(0, 0));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaDeviceDisablePeerAccess(0));
    pass_turn();
}

IMPORTER(opened_on_gpu_1_used_on_gpu_0, send_memory)
{
    receive_and_open(1);
    if (q)
        use(0);
    RECORD(cudaIpcCloseMemHandle(q));
    pass_turn();
}

IMPORTER(opened_on_gpu_0_used_on_gpu_1, send_memory)
{
    receive_and_open(0);
    cudaSetDevice(1);
    RECORD(cudaDeviceEnablePeerAccess(0, 0));
    use(1);
    pass_turn();
}

IMPORTER(opened_without_access, send_memory)
{
    receive_and_open(0);
    use(1);
    pass_turn();
}

/* Is a second opening on the other GPU the same address, and has each a close of its own? */
IMPORTER(opened_on_both, send_memory)
{
    void *second = NULL;
    receive_and_open(0);
    cudaSetDevice(1);
    RECORD(cudaIpcOpenMemHandle(&second, handle, cudaIpcMemLazyEnablePeerAccess));
    NOTE("%s", second == q ? "the same address" : "another address");
    note_where(second);
    RECORD(cudaIpcCloseMemHandle(second));
    use(0);
    use(1);
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaIpcCloseMemHandle(q));
    pass_turn();
}

/* ---- copies of slices that name their GPUs ---- */

static void set_up(void)
{
    cudaSetDevice(1);
    cudaMalloc(&far_memory, MiB);
    cudaSetDevice(0);
    cudaMalloc(&a, MiB);
}

CASE_AFTER(set_up, slices_of_peers)
{
    struct cudaMemcpy3DPeerParms good = {.srcPtr = make_cudaPitchedPtr(a, 64, 64, 4),
                                         .dstPtr = make_cudaPitchedPtr(far_memory, 64, 64, 4),
                                         .dstDevice = 1,
                                         .extent = make_cudaExtent(64, 4, 2)};
#define COPY(what, change)                                       \
    CHANGED(struct cudaMemcpy3DPeerParms, p, good, change, what, \
            RECORD_SYNC(cudaMemcpy3DPeerAsync(&p, s), s))
    COPY("right", );
    COPY("the destination is of the other GPU", p.dstDevice = 0);
    COPY("to GPU 2", p.dstDevice = 2);
    COPY("from GPU -1", p.srcDevice = -1);
    COPY("from nothing", p.srcPtr.ptr = NULL);
    COPY("from nothing, no slices", (p.srcPtr.ptr = NULL, p.extent.depth = 0));
    COPY("a pitch less than the width", p.dstPtr.pitch = 32);
    COPY("slices that overlap", p.extent.height = 5);
    cudaGraph_t graph = NULL;
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaMemcpy3DPeerAsync(&good, s));
    RECORD(cudaStreamEndCapture(s, &graph));
}

/* ---- what belongs to the GPU that is not current ---- */

CASE_AFTER(set_up, arrays_of_the_other)
{
    struct cudaChannelFormatDesc d = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaResourceDesc r;
    struct cudaTextureDesc t = {.sRGB = 0};
    cudaTextureObject_t x = 0;
    cudaArray_t array;
    float texels[32] = {1, 2, 3};
    cudaMallocArray(&array, &d, 8, 4, 0);
    cudaSetDevice(1);
    RECORD(cudaMemcpy2DToArray(array, 0, 0, texels, 32, 32, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy2DFromArray(far_memory, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToDevice));
    RECORD(cudaMemcpy2DFromArray(texels, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    NOTE("%g %g", texels[0], texels[2]);
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    RECORD(cudaCreateTextureObject(&x, &r, &t, NULL));
    RECORD(cudaDestroyTextureObject(x));
    RECORD(cudaFreeArray(array));
}

CASE(attributes_of_streams)
{
    cudaStream_t other;
    cudaSetDevice(1);
    cudaStreamCreate(&other);
    RECORD(cudaStreamCopyAttributes(s, other));
    RECORD(cudaStreamCopyAttributes(other, s));
    RECORD(cudaStreamQuery(s));
}

static cudaGraphNode_t node;

static cudaError_t add_condition(cudaGraph_t graph, cudaGraphConditionalHandle h, cudaGraph_t *body)
{
    struct cudaGraphNodeParams p = condition_params(h);
    cudaError_t e = RECORD(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p));
    if (!e)
        *body = p.conditional.phGraph_out[0];
    return e;
}

/* A handle of GPU 0 in a node that is added while GPU 1 is current. */
CASE(condition_of_the_other)
{
    cudaGraphConditionalHandle h;
    cudaGraph_t graph, body;
    cudaGraphCreate(&graph, 0);
    RECORD(cudaGraphConditionalHandleCreate(&h, graph, 1, cudaGraphCondAssignDefault));
    cudaSetDevice(1);
    add_condition(graph, h, &body);
}

/* A body with a kernel of the other GPU, or with a copy from it. */
static void body_of_the_other(int with_kernel)
{
    cudaGraphConditionalHandle h;
    cudaGraph_t graph, body = NULL;
    cudaGraphExec_t x = NULL;
    int value = 5;
    size_t count = 1;
    set_up();
    void *arguments[] = {&far_memory, &value, &count};
    struct cudaKernelNodeParams p = {.func = kernel_fill(),
                                     .gridDim = {1, 1, 1},
                                     .blockDim = {32, 1, 1},
                                     .kernelParams = arguments};
    cudaGraphCreate(&graph, 0);
    RECORD(cudaGraphConditionalHandleCreate(&h, graph, 1, cudaGraphCondAssignDefault));
    if (add_condition(graph, h, &body))
        return;
    cudaSetDevice(1);
    if (with_kernel)
        RECORD(cudaGraphAddKernelNode(&node, body, NULL, 0, &p));
    else
        RECORD(cudaGraphAddMemcpyNode1D(&node, body, NULL, 0, a, far_memory, 4, cudaMemcpyDefault));
    cudaSetDevice(0);
    if (!RECORD(cudaGraphInstantiate(&x, graph, 0)))
        RECORD(cudaGraphLaunch(x, s));
    RECORD(cudaStreamSynchronize(s));
}

CASE(kernel_of_the_other_in_a_body) { body_of_the_other(1); }
CASE(copy_from_the_other_in_a_body) { body_of_the_other(0); }

int main(int argc, char **argv) { return run_pairs(argc, argv); }
