/* Records, with two GPUs, what no other probe asks about: memory of cudaMalloc that an importer
 * opens on the GPU that does not have it; copies of slices that name their GPUs; arrays, textures,
 * kernels, and conditional nodes of the GPU that is not current. */
#include "pairs.h"

#include <cuda_runtime.h>

static void *far_memory; /* 1 MiB of GPU 1 */
static void *a, *q;      /* the exporter's memory, of GPU 0; its address in the importer */
static cudaIpcMemHandle_t handle;

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
    struct cudaPointerAttributes x;
    memset(&x, 0, sizeof x);
    RECORD(cudaPointerGetAttributes(&x, p));
    NOTE("type %d, device %d", (int)x.type, x.device);
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
    RECORD(launch_add(q, 1, 1, own));
    RECORD(cudaStreamSynchronize(own));
}

/* Is the memory of GPU 0 opened where GPU 1 is current? May both use it, and is there peer access
 * then that the program has not opened? */
static void open_on_gpu_1(void)
{
    int can = -1;
    receive_bytes(&handle, sizeof handle);
    cudaSetDevice(1);
    RECORD(cudaIpcOpenMemHandle(&q, handle, cudaIpcMemLazyEnablePeerAccess));
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

static void open_on_gpu_1_use_on_gpu_0(void)
{
    receive_bytes(&handle, sizeof handle);
    cudaSetDevice(1);
    RECORD(cudaIpcOpenMemHandle(&q, handle, cudaIpcMemLazyEnablePeerAccess));
    if (q)
        use(0);
    RECORD(cudaIpcCloseMemHandle(q));
    pass_turn();
}

static void open_on_gpu_0_use_on_gpu_1(void)
{
    receive_bytes(&handle, sizeof handle);
    RECORD(cudaIpcOpenMemHandle(&q, handle, cudaIpcMemLazyEnablePeerAccess));
    cudaSetDevice(1);
    RECORD(cudaDeviceEnablePeerAccess(0, 0));
    use(1);
    pass_turn();
}

static void open_on_gpu_0_use_on_gpu_1_without_access(void)
{
    receive_bytes(&handle, sizeof handle);
    RECORD(cudaIpcOpenMemHandle(&q, handle, cudaIpcMemLazyEnablePeerAccess));
    use(1);
    pass_turn();
}

/* Is a second opening on the other GPU the same address, and has each a close of its own? */
static void open_on_both(void)
{
    void *second = NULL;
    receive_bytes(&handle, sizeof handle);
    RECORD(cudaIpcOpenMemHandle(&q, handle, cudaIpcMemLazyEnablePeerAccess));
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

static void copy(const char *what, struct cudaMemcpy3DPeerParms p)
{
    NOTE("%s", what);
    RECORD(cudaMemcpy3DPeerAsync(&p, s));
    RECORD(cudaStreamSynchronize(s));
}

static void slices_of_peers(void)
{
    struct cudaMemcpy3DPeerParms good, p;
    set_up();
    memset(&good, 0, sizeof good);
    good.srcPtr = make_cudaPitchedPtr(a, 64, 64, 4);
    good.dstPtr = make_cudaPitchedPtr(far_memory, 64, 64, 4);
    good.dstDevice = 1;
    good.extent = make_cudaExtent(64, 4, 2);
    copy("right", good);
    p = good, p.dstDevice = 0;
    copy("the destination is of the other GPU", p);
    p = good, p.dstDevice = 2;
    copy("to GPU 2", p);
    p = good, p.srcDevice = -1;
    copy("from GPU -1", p);
    p = good, p.srcPtr.ptr = NULL;
    copy("from nothing", p);
    p.extent.depth = 0;
    copy("from nothing, no slices", p);
    p = good, p.dstPtr.pitch = 32;
    copy("a pitch less than the width", p);
    p = good, p.extent.height = 5;
    copy("slices that overlap", p);
    cudaGraph_t graph = NULL;
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    RECORD(cudaMemcpy3DPeerAsync(&good, s));
    RECORD(cudaStreamEndCapture(s, &graph));
}

/* ---- what belongs to the GPU that is not current ---- */

static void arrays_of_the_other(void)
{
    struct cudaChannelFormatDesc d = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaResourceDesc r;
    struct cudaTextureDesc t;
    cudaTextureObject_t x = 0;
    cudaArray_t array;
    float texels[32] = {1, 2, 3};
    set_up();
    cudaMallocArray(&array, &d, 8, 4, 0);
    cudaSetDevice(1);
    RECORD(cudaMemcpy2DToArray(array, 0, 0, texels, 32, 32, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy2DFromArray(far_memory, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToDevice));
    RECORD(cudaMemcpy2DFromArray(texels, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    NOTE("%g %g", texels[0], texels[2]);
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    RECORD(cudaCreateTextureObject(&x, &r, &t, NULL));
    RECORD(cudaDestroyTextureObject(x));
    RECORD(cudaFreeArray(array));
}

static void attributes_of_streams(void)
{
    cudaStream_t other;
    cudaSetDevice(1);
    cudaStreamCreate(&other);
    RECORD(cudaStreamCopyAttributes(s, other));
    RECORD(cudaStreamCopyAttributes(other, s));
    RECORD(cudaStreamQuery(s));
}

/* What is told of a pair of GPUs. */
static void attributes_of_pairs(void)
{
    static const int pairs[][2] = {{0, 1}, {1, 0}, {0, 0}, {0, 2}, {-1, 0}};
    for (int n = 0; n < 5; n++)
        for (int i = 0; i <= 6; i++) {
            int value = -99;
            cudaError_t e = cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)i,
                                                      pairs[n][0], pairs[n][1]);
            NOTE("attribute %d of %d and %d: %s %d", i, pairs[n][0], pairs[n][1],
                 cudaGetErrorName(e), value);
        }
    cudaGetLastError();
    RECORD(cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 1));
}

static cudaGraphNode_t node;

static cudaError_t add_condition(cudaGraph_t graph, cudaGraphConditionalHandle h, cudaGraph_t *body)
{
    struct cudaGraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = cudaGraphCondTypeIf;
    p.conditional.size = 1;
    cudaError_t e = RECORD(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p));
    if (!e)
        *body = p.conditional.phGraph_out[0];
    return e;
}

/* A handle of GPU 0 in a node that is added while GPU 1 is current. */
static void condition_of_the_other(void)
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

static void kernel_of_the_other_in_a_body(void) { body_of_the_other(1); }
static void copy_from_the_other_in_a_body(void) { body_of_the_other(0); }

static const struct pair cases[] = {
    {"opened_on_gpu_1", send_memory, open_on_gpu_1},
    {"opened_on_gpu_1_used_on_gpu_0", send_memory, open_on_gpu_1_use_on_gpu_0},
    {"opened_on_gpu_0_used_on_gpu_1", send_memory, open_on_gpu_0_use_on_gpu_1},
    {"opened_without_access", send_memory, open_on_gpu_0_use_on_gpu_1_without_access},
    {"opened_on_both", send_memory, open_on_both},
    ALONE(slices_of_peers),
    ALONE(arrays_of_the_other),
    ALONE(attributes_of_streams),
    ALONE(attributes_of_pairs),
    ALONE(condition_of_the_other),
    ALONE(kernel_of_the_other_in_a_body),
    ALONE(copy_from_the_other_in_a_body),
};

int main(int argc, char **argv)
{
    return run_pairs(argc, argv, cases, sizeof cases / sizeof *cases);
}
