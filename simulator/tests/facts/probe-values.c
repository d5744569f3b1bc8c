/* Records what streams write and wait for in memory (cuStreamWriteValue32 and so on), and what
 * copies in batches take. */
#include "ask_driver.h"

static CUdeviceptr memory, of_pool, managed, of_host;
static uint64_t ordinary[8];

static void set_up(void)
{
    cudaMalloc((void **)&memory, 4096);
    cudaMemset((void *)memory, 0, 4096);
    cudaMallocAsync((void **)&of_pool, 4096, s);
    cudaMallocManaged((void **)&managed, 4096, cudaMemAttachGlobal);
    of_host = (CUdeviceptr)host;
    memset(host, 0, 4096);
    cudaDeviceSynchronize();
}

/* Returns whether the stream waits, and lets it go on. */
static const char *waits(uint64_t value)
{
    const int is_over = soon_over(s);
    DRIVER(cuStreamWriteValue64)(t, memory, value, 0);
    if (!soon_over(s))
        DRIVER(cuStreamWriteValue64)(t, memory, 0, 0);
    cudaStreamSynchronize(s);
    return is_over ? "goes on" : "waits";
}

#define WAIT(bits, there, value, flags)                                                  \
    do {                                                                                 \
        DRIVER(cuStreamWriteValue##bits)(s, memory, there, 0);                           \
        const CUresult error = DRIVER(cuStreamWaitValue##bits)(s, memory, value, flags); \
        NOTE("%-46s %s", #bits " bits: there " #there ", waits for " #value ", " #flags, \
             error ? "is refused" : waits(value));                                       \
    } while (0)

/* For what streams wait. */
CASE_AFTER(set_up, value_conditions)
{
    WAIT(32, 4, 5, 0);
    WAIT(32, 0x80000006, 5, 0);
    WAIT(32, 6, 5, 1);
    WAIT(32, 6, 1, 2);
    WAIT(32, 0xFFFFFFF0, 0xF, 3);
    WAIT(64, 0, 1, 0);
    WAIT(64, 0x100000000, 1, 2);
    WAIT(64, 0xFFFFFFFFFFFFFFF0, 0xF, 3);
    WAIT(32, 5, 5, 0);
    WAIT(32, 6, 5, 0);
    WAIT(32, 0x80000004, 5, 0);
    WAIT(32, 5, 5, 1);
    WAIT(32, 6, 6, 1);
    WAIT(32, 6, 2, 2);
    WAIT(32, 6, 5, 2);
    WAIT(32, 6, 5, 3);
    WAIT(64, 0x100000000, 1, 0);
    WAIT(64, 0x100000000, 0x300000000, 2);
    WAIT(64, 7, 7, 1);
    WAIT(64, 7, 8, 3);
}

/* Which arguments are refused. */
CASE_AFTER(set_up, value_arguments)
{
    ASK(cuStreamWriteValue32, s, memory, 1, 1);
    ASK(cuStreamWriteValue32, s, memory, 1, 2);
    ASK(cuStreamWriteValue32, s, memory + 2, 1, 0);
    ASK(cuStreamWriteValue32, s, 0, 1, 0);
    ASK(cuStreamWriteValue64, s, memory + 4, 1, 0);
    ASK(cuStreamWriteValue64, s, memory + 4096, 1, 0);
    ASK(cuStreamWriteValue32, NULL, memory, 1, 0);
    ASK(cuStreamWriteValue32, CU_STREAM_PER_THREAD, memory, 1, 0);
    ASK(cuStreamWaitValue32, s, memory, 0, 4);
    ASK(cuStreamWaitValue32, s, memory, 0, CU_STREAM_WAIT_VALUE_FLUSH);
    ASK(cuStreamWaitValue32, s, memory + 2, 0, 0);
    ASK(cuStreamWaitValue32, s, 0, 0, 0);
    ASK(cuStreamWaitValue64, s, memory + 4, 0, 0);
    ASK(cuStreamSynchronize, s);
}

/* Which memory has values. */
CASE_AFTER(set_up, value_memory)
{
    ASK(cuStreamWriteValue32, s, memory, 1, 0);
    ASK(cuStreamWriteValue32, s, of_pool, 1, 0);
    ASK(cuStreamWriteValue32, s, of_host, 1, 0);
    ASK(cuStreamWriteValue32, s, managed, 1, 0);
    ASK(cuStreamWriteValue32, s, (CUdeviceptr)ordinary, 1, 0);
    ASK(cuStreamWaitValue32, s, managed, 0, 0);
    ASK(cuStreamWaitValue32, s, (CUdeviceptr)ordinary, 0, 0);
    ASK(cuStreamSynchronize, s);
    cudaHostRegister(ordinary, sizeof ordinary, 0);
    ASK(cuStreamWriteValue64, s, (CUdeviceptr)ordinary, 1, 0);
    ASK(cuStreamSynchronize, s);
    NOTE("there %d %llu", host[0], (unsigned long long)ordinary[0]);
    cudaHostUnregister(ordinary);
    cudaFreeAsync((void *)of_pool, s);
    ASK(cuStreamWriteValue32, s, of_pool, 1, 0);
    ASK(cuStreamSynchronize, s);
}

#define OP(kind, ...)           \
    {                           \
        .kind = { __VA_ARGS__ } \
    }

/* Several values at once. */
CASE_AFTER(set_up, value_batches)
{
    CUstreamBatchMemOpParams two[2] = {
        OP(writeValue, CU_STREAM_MEM_OP_WRITE_VALUE_32, memory, {7}),
        OP(waitValue, CU_STREAM_MEM_OP_WAIT_VALUE_32, memory, {7}),
    };
    static CUstreamBatchMemOpParams many[257];
    for (unsigned n = 0; n < 257; n++)
        many[n] = two[0];
    ASK(cuStreamBatchMemOp, s, 2, two, 0);
    ASK(cuStreamBatchMemOp, s, 2, two, 1);
    ASK(cuStreamBatchMemOp, s, 0, two, 0);
    ASK(cuStreamBatchMemOp, s, 0, NULL, 0);
    ASK(cuStreamBatchMemOp, s, 255, many, 0);
    ASK(cuStreamBatchMemOp, s, 256, many, 0);
    ASK(cuStreamBatchMemOp, s, 257, many, 0);
    two[0].operation = CU_STREAM_MEM_OP_BARRIER;
    two[0].memoryBarrier.flags = 0;
    ASK(cuStreamBatchMemOp, s, 1, two, 0);
    two[0].memoryBarrier.flags = 1;
    ASK(cuStreamBatchMemOp, s, 1, two, 0);
    two[0].memoryBarrier.flags = 2;
    ASK(cuStreamBatchMemOp, s, 1, two, 0);
    two[0].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    two[0].flushRemoteWrites.flags = 0;
    ASK(cuStreamBatchMemOp, s, 1, two, 0);
    two[0].operation = (CUstreamBatchMemOpType)9;
    ASK(cuStreamBatchMemOp, s, 1, two, 0);
    ASK(cuStreamSynchronize, s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    ASK(cuStreamWriteValue32, s, memory, 1, 0);
    cudaGraph_t graph;
    RECORD(cudaStreamEndCapture(s, &graph));
}

static struct cudaMemcpyAttributes any = {.srcAccessOrder = cudaMemcpySrcAccessOrderAny},
                                   ordered = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};

#define BATCH(count, attributes, first, number, stream) \
    RECORD(cudaMemcpyBatchAsync(to, from, bytes, count, attributes, first, number, stream))

/* Which batches of copies are refused. */
CASE_AFTER(set_up, batch_arguments)
{
    void *to[] = {(void *)memory, (void *)(memory + 64)};
    const void *from[] = {(void *)of_pool, (void *)(of_pool + 64)};
    size_t bytes[] = {64, 64}, first[] = {0, 1}, wrong[] = {1, 1};
    struct cudaMemcpyAttributes both[] = {ordered, any}, none = {0}, odd = ordered,
                                flagged = ordered;
    odd.srcAccessOrder = (enum cudaMemcpySrcAccessOrder)4;
    BATCH(2, both, first, 2, s);
    BATCH(2, both, first, 1, s);
    BATCH(0, both, first, 1, s);
    BATCH(2, both, first, 0, s);
    BATCH(2, NULL, NULL, 0, s);
    BATCH(2, NULL, first, 1, s);
    BATCH(2, both, NULL, 1, s);
    BATCH(1, both, first, 2, s);
    BATCH(2, both, wrong, 1, s);
    BATCH(2, &none, first, 1, s);
    BATCH(2, &odd, first, 1, s);
    flagged.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    BATCH(2, &flagged, first, 1, s);
    flagged.flags = 2;
    BATCH(2, &flagged, first, 1, s);
    BATCH(2, both, first, 1, NULL);
    BATCH(2, both, first, 1, cudaStreamLegacy);
    BATCH(2, both, first, 1, cudaStreamPerThread);
    bytes[1] = 0;
    BATCH(2, both, first, 1, s);
    bytes[1] = 64;
    to[1] = NULL;
    BATCH(2, both, first, 1, s);
    RECORD(cudaMemcpyBatchAsync(NULL, from, bytes, 2, both, first, 1, s));
    RECORD(cudaMemcpyBatchAsync(to, NULL, bytes, 2, both, first, 1, s));
    RECORD(cudaMemcpyBatchAsync(to, from, NULL, 2, both, first, 1, s));
    RECORD(cudaStreamSynchronize(s));
    to[1] = (void *)(memory + 64);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    BATCH(2, both, first, 1, s);
    cudaGraph_t graph;
    RECORD(cudaStreamEndCapture(s, &graph));
}

static void *copy_behind_gate(void *order)
{
    void *to[] = {(void *)memory, ordinary};
    const void *from[] = {ordinary, (void *)memory};
    size_t bytes[] = {64, 64}, first[] = {0};
    const int up = *(const char *)order == 'u', stream_order = ((const char *)order)[1] == 's';
    cudaMemcpyBatchAsync(&to[!up], &from[!up], bytes, 1, stream_order ? &ordered : &any, first, 1,
                         s);
    function_over = 1;
    return NULL;
}

/* Whether a batch with ordinary memory waits for earlier work. */
CASE_AFTER(set_up, batch_waits)
{
    static const char *const kinds[] = {"us", "ua", "ds", "da"};
    static const char *const words[] = {"up, in stream order", "up, in any order",
                                        "down, in stream order", "down, in any order"};
    for (unsigned n = 0; n < 4; n++) {
        pthread_t thread;
        function_over = 0;
        hold(s);
        pthread_create(&thread, NULL, copy_behind_gate, (void *)kinds[n]);
        usleep(200000);
        NOTE("%-24s %s", words[n], function_over ? "returns at once" : "waits");
        open_gate();
        pthread_join(thread, NULL);
        cudaStreamSynchronize(s);
    }
}

static void *copy_on_device(void *unused)
{
    cudaMemcpy((void *)of_pool, (void *)memory, 64, cudaMemcpyDeviceToDevice);
    function_over = 1;
    return unused;
}

/* Whether cudaMemcpy waits on the device, and with memory whose copies always do. */
CASE_AFTER(set_up, always_waits)
{
    for (int on = 0; on < 2; on++) {
        pthread_t thread;
        function_over = 0;
        DRIVER(cuPointerSetAttribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory);
        hold(b);
        pthread_create(&thread, NULL, copy_on_device, NULL);
        usleep(200000);
        NOTE("attribute %d: %s", on, function_over ? "returns at once" : "waits");
        open_gate();
        pthread_join(thread, NULL);
        cudaDeviceSynchronize();
    }
}

/* Copies of slices between devices, here from a device to itself. */
CASE_AFTER(set_up, peer_slices)
{
    struct cudaMemcpy3DPeerParms p = {.extent = {16, 4, 2}};
    p.srcPtr = (struct cudaPitchedPtr){(void *)memory, 16, 16, 4};
    p.dstPtr = (struct cudaPitchedPtr){(void *)of_pool, 16, 16, 4};
    RECORD(cudaMemcpy3DPeer(&p));
    RECORD(cudaMemcpy3DPeerAsync(&p, s));
    RECORD(cudaMemcpy3DPeer(NULL));
    p.dstDevice = 9;
    RECORD(cudaMemcpy3DPeer(&p));
    p.dstDevice = 0;
    p.extent.width = 32;
    RECORD(cudaMemcpy3DPeer(&p));
    p.extent.width = 0;
    RECORD(cudaMemcpy3DPeer(&p));
    p.extent.width = 16;
    p.srcPtr.ptr = ordinary;
    RECORD(cudaMemcpy3DPeer(&p));
    RECORD(cudaDeviceSynchronize());
}

#define TELL(attribute, address)                                                         \
    do {                                                                                 \
        uint64_t value[8] = {0};                                                         \
        const CUresult error = DRIVER(cuPointerGetAttribute)(value, attribute, address); \
        NOTE("%-40s error %d value %llu", #attribute " of " #address, (int)error,        \
             (unsigned long long)value[0]);                                              \
    } while (0)

/* Copies that always wait, and attributes 5 and 20. */
CASE_AFTER(set_up, pointer_attributes)
{
    int on = 1, off = 0;
    TELL(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory);
    ASK(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory);
    TELL(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory);
    TELL(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory + 64);
    ASK(cuPointerSetAttribute, &off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory + 64);
    TELL(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory);
    ASK(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, of_pool);
    ASK(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, of_host);
    ASK(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, managed);
    ASK(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)ordinary);
    ASK(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory);
    TELL(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, of_pool);
    TELL(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, of_host);
    TELL(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, managed);
    uint64_t first[2] = {0};
    CUdeviceptr other;
    TELL(CU_POINTER_ATTRIBUTE_P2P_TOKENS, memory);
    TELL(CU_POINTER_ATTRIBUTE_P2P_TOKENS, of_pool);
    TELL(CU_POINTER_ATTRIBUTE_P2P_TOKENS, of_host);
    cudaMalloc((void **)&other, 4096);
    NOTE("20: %d", DRIVER(cuPointerGetAttribute)(&first[0], (CUpointer_attribute)20, memory));
    NOTE("20: %d", DRIVER(cuPointerGetAttribute)(&first[1], (CUpointer_attribute)20, other));
    NOTE("the same %d, both 0 %d", first[0] == first[1], !first[0] && !first[1]);
    NOTE("20: %d", DRIVER(cuPointerGetAttribute)(&first[1], (CUpointer_attribute)20, of_pool));
    NOTE("of a pool 0: %d, the same %d", !first[1], first[0] == first[1]);
    NOTE("20: %d", DRIVER(cuPointerGetAttribute)(&first[1], (CUpointer_attribute)20, of_host));
    NOTE("of the host 0: %d", !first[1]);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
