/* What a device says about itself, how much work it accepts, memory in rows and slices, and queries
 * about managed ranges: device NAME. What is refused of rows, and much more,
 * simulator/tests/facts/probe-pitch.c and probe-endless.c asked a real device. */
#define _GNU_SOURCE
#include "expect.h"

#include <stdbool.h>
#include <unistd.h>

#include "kernels.h"

/* ---- attributes and properties ---- */

/* Each field that has an attribute has its value. A program computes its launches from either. */
CASE(properties)
{
    struct cudaDeviceProp p;
    int value;
    for (int device = 0; device < 2; device++) {
        OK(cudaGetDeviceProperties(&p, device));
#define FIELD(name, expected, field)                               \
    OK(cudaDeviceGetAttribute(&value, cudaDevAttr##name, device)); \
    same(__FILE__, __LINE__, #field, (unsigned)p.field, (unsigned)value);
#define ATTRIBUTE(...)
#define UNNAMED(...)
#include "mem/device_attributes.def"
    }
    SAME(1024, p.maxThreadsDim[1]);
    SAME(2147483647, p.maxGridSize[0]);
    SAME(65536, p.regsPerBlock);
    SAME(1, p.streamPrioritiesSupported);
}

/* ---- limits ---- */

/* A limit is what was recorded, or what was set. */
CASE(limits)
{
    size_t value = 0;
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    SAME(8388608, value);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 * MiB));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    SAME(64 * MiB, value);
    /* Each device has its own. */
    OK(cudaSetDevice(1));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    SAME(8388608, value);
    OK(cudaSetDevice(0));
    OK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 * MiB));
    OK(cudaCtxResetPersistingL2Cache());
    OK(cudaDeviceGetLimit(&value, cudaLimitPersistingL2CacheSize));
    SAME(3932160, value);
    IS(cudaErrorUnsupportedLimit, cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 1));
    IS(cudaErrorInvalidValue, cudaDeviceSetLimit((enum cudaLimit)99, 1));
    IS(cudaErrorInvalidValue, cudaDeviceGetLimit(&value, (enum cudaLimit)99));
    IS(cudaErrorInvalidValue, cudaDeviceGetLimit(NULL, cudaLimitStackSize));
    OK(cudaDeviceReset());
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    SAME(8388608, value);
}

/* Documented: the call makes no device current. */
CASE(init)
{
    int device = -1;
    OK(cudaInitDevice(1, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    OK(cudaGetDevice(&device));
    SAME(0, device);
    OK(cudaInitDevice(0, 0, 0));
    IS(cudaErrorInvalidDevice, cudaInitDevice(2, 0, 0));
    IS(cudaErrorInvalidDevice, cudaInitDevice(-1, 0, 0));
}

/* Each stream has its own attributes, and a new one has none of a destroyed one's. */
CASE(stream_attributes)
{
    cudaStream_t first, second;
    cudaLaunchAttributeValue v = {.syncPolicy = cudaSyncPolicyYield};
    struct cudaDeviceProp wanted = {.major = 0};
    int chosen = -1, priority;
    OK(cudaChooseDevice(&chosen, &wanted));
    SAME(0, chosen);
    IS(cudaErrorInvalidValue, cudaChooseDevice(NULL, &wanted));
    OK(cudaStreamCreate(&first));
    OK(cudaStreamCreate(&second));
    OK(cudaStreamSetAttribute(first, cudaLaunchAttributeSynchronizationPolicy, &v));
    OK(cudaStreamGetAttribute(second, cudaLaunchAttributeSynchronizationPolicy, &v));
    SAME(-1, (int)v.syncPolicy);
    v.priority = -99;
    OK(cudaStreamSetAttribute(first, cudaLaunchAttributePriority, &v));
    OK(cudaStreamGetPriority(first, &priority));
    SAME(-5, priority);
    OK(cudaStreamCopyAttributes(second, first));
    OK(cudaStreamGetAttribute(second, cudaLaunchAttributeSynchronizationPolicy, &v));
    SAME(cudaSyncPolicyYield, v.syncPolicy);
    OK(cudaStreamGetPriority(second, &priority));
    SAME(-5, priority);
    memset(&v, 0, sizeof v);
    v.accessPolicyWindow.hitRatio = 2;
#define REFUSED(call, name, value) \
    IS(cudaErrorInvalidValue, cudaStream##call##Attribute(first, cudaLaunchAttribute##name, value))
    REFUSED(Set, AccessPolicyWindow, &v);
    REFUSED(Set, Cooperative, &v);
    REFUSED(Get, NvlinkUtilCentricScheduling, &v);
    REFUSED(Get, Priority, NULL);
    v.accessPolicyWindow.hitRatio = 0.5f;
    v.accessPolicyWindow.num_bytes = 4096;
    OK(cudaStreamSetAttribute(first, cudaLaunchAttributeAccessPolicyWindow, &v));
    OK(cudaStreamSetAttribute(first, cudaLaunchAttributeMemSyncDomain, &v));
    memset(&v, 0, sizeof v);
    OK(cudaStreamGetAttribute(first, cudaLaunchAttributeAccessPolicyWindow, &v));
    SAME(4096, v.accessPolicyWindow.num_bytes);
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaStreamCreate(&first));
    OK(cudaStreamGetAttribute(first, cudaLaunchAttributeSynchronizationPolicy, &v));
    SAME(-1, (int)v.syncPolicy);
}

/* What the call takes, and what it refuses. */
CASE(attach)
{
    cudaStream_t stream;
    char *managed, *plain;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocManaged((void **)&managed, MiB, cudaMemAttachHost));
    OK(cudaMalloc((void **)&plain, MiB));
    OK(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachSingle));
    OK(cudaStreamAttachMemAsync(stream, managed, MiB, cudaMemAttachGlobal));
    OK(cudaStreamAttachMemAsync(0, managed, 0, cudaMemAttachHost));
    IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(0, managed, 0, cudaMemAttachSingle));
    IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, managed, 0, 3));
    IS(cudaErrorInvalidValue,
       cudaStreamAttachMemAsync(stream, managed, MiB / 2, cudaMemAttachGlobal));
    IS(cudaErrorInvalidValue,
       cudaStreamAttachMemAsync(stream, managed + 4096, 0, cudaMemAttachGlobal));
    IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, plain, 0, cudaMemAttachGlobal));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(managed));
    OK(cudaFree(plain));
}

/* ---- how much work it accepts ---- */

/* How many operations a stream takes after a hold, and how many nodes a graph here has. */
enum { ROOM = 1021, NODES = 5 };
static cudaStream_t s;
static int *gate, *data;

/* The work after the hold is pending. */
static void hold(void)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&data, 128));
    OK(cudaMallocHost((void **)&gate, sizeof *gate));
    *gate = 0;
    OK(launch_hold(gate, s));
}

static void finish(void)
{
    __atomic_store_n(gate, 1, __ATOMIC_SEQ_CST);
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(data));
    OK(cudaFreeHost(gate));
}

static void queue(int kernels)
{
    for (int i = 0; i < kernels; i++)
        OK(launch_fill(data, i, 16, s));
}

/* The nodes of a graph take room, whether they form a chain or not.
 * simulator/tests/facts/probe-queue.c asked a real device what else does. */
static void launches(int chained, int count)
{
    struct cudaMemsetParams set = {.elementSize = 4, .width = 4, .height = 1};
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node = NULL, before;
    hold();
    OK(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < NODES; i++) {
        before = node;
        set.dst = data + 4 * i;
        OK(cudaGraphAddMemsetNode(&node, graph, &before, chained && before, &set));
    }
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < count; i++)
        OK(cudaGraphLaunch(exec, s));
    queue(ROOM - ROOM / NODES * NODES);
    finish();
}
CASE(full_of_launches)
{
    launches(1, ROOM / NODES);
    launches(0, ROOM / NODES);
}
CASE(too_many_launches) { launches(1, ROOM / NODES + 1); }
CASE(too_many_wide_launches) { launches(0, ROOM / NODES + 1); }

/* Queues one more than there is room for, while the gate stays closed. */
CASE(too_full)
{
    hold();
    queue(ROOM + 1);
    finish();
}

/* ---- a reset in the middle ---- */

static int *table;
static cudaStream_t old;

static void reset(void)
{
    OK(cudaStreamCreate(&old));
    OK(cudaMalloc((void **)&table, 4096));
    OK(cudaMemsetAsync(table, 1, 4096, old));
    OK(cudaDeviceReset());
}

/* What destructors do after it fails, and is no hazard. */
CASE(destroyed_after_reset)
{
    reset();
    cudaStreamSynchronize(old);
    cudaFree(table);
    cudaStreamDestroy(old);
    OK(cudaStreamCreate(&old));
    OK(cudaMalloc((void **)&table, 4096));
    OK(cudaMemsetAsync(table, 1, 4096, old));
    OK(cudaStreamDestroy(old));
    OK(cudaFree(table));
}
CASE(memory_after_reset)
{
    reset();
    printf("%d\n", (int)cudaMemset(table, 0, 4096));
}
CASE(stream_after_reset)
{
    reset();
    OK(cudaMalloc((void **)&table, 4096));
    launch_fill(table, 0, 1024, old);
}

/* ---- refused ---- */

/* The graph's memory of the launch before is not freed. */
CASE(refused_and_unseen)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamCreate(&old));
    OK(cudaStreamBeginCapture(old, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync((void **)&table, 4096, old));
    OK(cudaStreamEndCapture(old, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    cudaGraphLaunch(exec, old);
    cudaGraphLaunch(exec, old);
    OK(cudaFreeAsync(table, old));
    OK(cudaStreamSynchronize(old));
}

/* ---- rows ---- */

/* Returns how many of `height` rows of `pitch` bytes have `inside` in the columns [from, to) and
 * `between` elsewhere. */
static size_t rows_with(const unsigned char *p, size_t pitch, size_t height, size_t from, size_t to,
                        int inside, int between)
{
    size_t rows = 0;
    for (size_t y = 0; y < height; y++) {
        size_t good = 0;
        for (size_t x = 0; x < pitch; x++)
            good += p[y * pitch + x] == (x >= from && x < to ? inside : between);
        rows += good == pitch;
    }
    return rows;
}

enum { PITCH = 300, HEIGHT = 50, BYTES = PITCH * HEIGHT };

/* The bytes of every kind of copy and memset arrive, and those between rows are unchanged. */
CASE(bytes)
{
    void *none;
    size_t pitch;
    unsigned char *d, *e, *pinned, *pageable = malloc(BYTES);
    OK(cudaStreamCreate(&s));
    /* The size wraps to that of one row. */
    IS(cudaErrorMemoryAllocation, cudaMallocPitch(&none, &pitch, 1, ((size_t)1 << 55) + 1));
    OK(cudaMalloc((void **)&d, BYTES));
    OK(cudaMallocAsync((void **)&e, BYTES, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMallocHost((void **)&pinned, BYTES));
    memset(pinned, 9, BYTES);
    memset(pageable, 8, BYTES);

    OK(cudaMemset(d, 7, BYTES));
    OK(cudaMemset2D(d, PITCH, 3, 100, HEIGHT));
    OK(cudaMemcpy(pinned, d, BYTES, cudaMemcpyDeviceToHost));
    SAME(HEIGHT, rows_with(pinned, PITCH, HEIGHT, 0, 100, 3, 7));

    OK(cudaMemset2DAsync(d + 50, PITCH, 4, 100, HEIGHT, s));
    OK(cudaMemcpy2DAsync(e, 100, d + 50, PITCH, 100, HEIGHT, cudaMemcpyDeviceToDevice, s));
    OK(cudaMemcpy2DAsync(pageable + 200, PITCH, e, 100, 100, HEIGHT, cudaMemcpyDeviceToHost, s));
    SAME(HEIGHT, rows_with(pageable, PITCH, HEIGHT, 200, 300, 4, 8));

    /* A pageable source is staged at the call: later writes of the host are not copied. */
    memset(pageable, 5, BYTES);
    OK(cudaMemcpy2DAsync(d, PITCH, pageable + 10, PITCH, 20, HEIGHT, cudaMemcpyHostToDevice, s));
    memset(pageable, 6, BYTES);
    OK(cudaMemcpy2D(pinned, 20, d, PITCH, 20, HEIGHT, cudaMemcpyDefault));
    SAME(HEIGHT, rows_with(pinned, 20, HEIGHT, 0, 20, 5, 0));

    OK(cudaMemcpy2D(pageable, PITCH, pinned, 20, 20, HEIGHT, cudaMemcpyHostToHost));
    SAME(HEIGHT, rows_with(pageable, PITCH, HEIGHT, 0, 20, 5, 6));
    OK(cudaFreeAsync(e, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(d));
    free(pageable);
}

/* Rows of a captured copy and memset. */
CASE(nodes)
{
    unsigned char *d, *pinned;
    cudaGraph_t g;
    cudaGraphExec_t x;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&d, BYTES));
    OK(cudaMallocHost((void **)&pinned, BYTES));
    OK(cudaMemset(d, 7, BYTES));
    memset(pinned, 9, BYTES);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemset2DAsync(d, PITCH, 3, 40, HEIGHT, s));
    OK(cudaMemcpy2DAsync(pinned + 10, PITCH, d, PITCH, 40, HEIGHT, cudaMemcpyDeviceToHost, s));
    OK(cudaMemset2DAsync(d, PITCH, 3, 0, HEIGHT, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    SAME(HEIGHT, rows_with(pinned, PITCH, HEIGHT, 10, 50, 3, 9));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(d));
}

/* ---- ranges of managed memory ---- */

static int ask(enum cudaMemRangeAttribute attribute, const void *p, size_t size)
{
    int value = 77;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, p, size));
    return value;
}

static struct cudaMemLocation device(int id)
{
    return (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = id};
}

/* Advice for one page is not advice for others. It ends with its allocation, even if the next
 * allocation has the same address. */
CASE(ranges)
{
    char *p, *again;
    OK(cudaMallocManaged((void **)&p, 4 * MiB, cudaMemAttachGlobal));
    OK(cudaMemAdvise(p, 4 * MiB, cudaMemAdviseSetReadMostly, device(0)));
    SAME(1, ask(cudaMemRangeAttributeReadMostly, p, 4 * MiB));
    OK(cudaFree(p));
    OK(cudaMallocManaged((void **)&again, 4 * MiB, cudaMemAttachGlobal));
    SAME(1, again == p);
    SAME(0, ask(cudaMemRangeAttributeReadMostly, again, MiB));
    OK(cudaMemAdvise(again + MiB, MiB, cudaMemAdviseSetReadMostly, device(0)));
    SAME(0, ask(cudaMemRangeAttributeReadMostly, again + 2 * MiB, MiB));
    SAME(1, ask(cudaMemRangeAttributeReadMostly, again + MiB, MiB));
    OK(cudaFree(again));
}

/* ---- rows between the host and a pool of the host ---- */

/* One row beyond an allocation that the device may not touch, where the pool's memory continues. */
CASE(one_row_more)
{
    static const struct cudaMemPoolProps of_host = {.allocType = cudaMemAllocationTypePinned,
                                                    .location = {.type = cudaMemLocationTypeHost}};
    char *in_pool, *pageable = malloc(MiB);
    cudaMemPool_t pool;
    OK(cudaStreamCreate(&s));
    OK(cudaMemPoolCreate(&pool, &of_host));
    OK(cudaMallocFromPoolAsync((void **)&in_pool, MiB, pool, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy2DAsync(pageable, 512, in_pool, 512, 3, 2049, cudaMemcpyDefault, s));
    OK(cudaMemcpy2DAsync(in_pool, 512, pageable, 512, 3, 2049, cudaMemcpyDefault, s));
    OK(cudaFreeAsync(in_pool, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    free(pageable);
}

/* ---- slices ---- */

static struct cudaPitchedPtr pitched(void *p, size_t pitch, size_t height)
{
    return (struct cudaPitchedPtr){p, pitch, pitch, height};
}

/* A copy of slices between two devices is in order in its stream, and checks what it is given. */
CASE(slices_between_devices)
{
    unsigned char *here, *there, got[8 * 4 * 2];
    struct cudaMemcpy3DPeerParms p = {.extent = {8, 4, 2}, .dstDevice = 1};
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&here, sizeof got));
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&there, sizeof got));
    OK(cudaSetDevice(0));
    p.srcPtr = pitched(here, 8, 4);
    p.dstPtr = pitched(there, 8, 4);
    OK(cudaMemsetAsync(here, 7, sizeof got, s));
    OK(cudaMemcpy3DPeerAsync(&p, s));
    OK(cudaMemcpyAsync(got, there, sizeof got, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(7, got[0]);
    SAME(7, got[sizeof got - 1]);
    IS(cudaErrorInvalidValue, cudaMemcpy3DPeerAsync(NULL, s));
    p.dstDevice = 9;
    IS(cudaErrorInvalidDevice, cudaMemcpy3DPeerAsync(&p, s));
    OK(cudaFree(there));
    OK(cudaFree(here));
}

/* From a box of 8 x 4 x 3 bytes in rows of 16, the middle is copied elsewhere. What is between its
 * rows and slices is unchanged. */
CASE(slices)
{
    unsigned char host_box[16 * 6 * 4], *box, got[16 * 6 * 4];
    struct cudaExtent all = {16, 6, 4};
    struct cudaMemcpy3DParms p = {.extent = {8, 4, 3}, .kind = cudaMemcpyDefault};
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&box, sizeof host_box));
    for (size_t i = 0; i < sizeof host_box; i++)
        host_box[i] = (unsigned char)i;
    OK(cudaMemset3D(pitched(box, 16, 6), 0xee, all));
    p.srcPtr = pitched(host_box, 16, 6);
    p.srcPos = (struct cudaPos){1, 1, 0};
    p.dstPtr = pitched(box, 16, 6);
    p.dstPos = (struct cudaPos){2, 2, 1};
    OK(cudaMemcpy3DAsync(&p, s));
    OK(cudaMemset3DAsync(pitched(box, 16, 6), 0x11, (struct cudaExtent){1, 2, 4}, s));
    OK(cudaMemcpyAsync(got, box, sizeof got, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    size_t copied = 0, set = 0, left = 0;
    for (size_t z = 0; z < 4; z++)
        for (size_t y = 0; y < 6; y++)
            for (size_t x = 0; x < 16; x++) {
                size_t at = (z * 6 + y) * 16 + x;
                bool inside = x >= 2 && x < 10 && y >= 2 && z >= 1;
                if (inside)
                    copied += got[at] == host_box[((z - 1) * 6 + y - 1) * 16 + x - 1];
                else if (x == 0 && y < 2)
                    set += got[at] == 0x11;
                else
                    left += got[at] == 0xee;
            }
    SAME(8 * 4 * 3, copied);
    SAME(2 * 4, set);
    SAME(sizeof got - 8 * 4 * 3 - 2 * 4, left);
    /* Back, all in one copy. */
    p = (struct cudaMemcpy3DParms){.extent = all, .kind = cudaMemcpyDeviceToHost};
    p.srcPtr = pitched(box, 16, 6);
    p.dstPtr = pitched(host_box, 16, 6);
    OK(cudaMemcpy3D(&p));
    SAME(0, memcmp(host_box, got, sizeof got));
    OK(cudaFree(box));
}

CASE(slices_refused)
{
    unsigned char *d, host_box[4096];
    struct cudaMemcpy3DParms p = {.extent = {16, 4, 4}, .kind = cudaMemcpyDefault};
    OK(cudaStreamCreate(&s));
    alarm(20);
    OK(cudaMalloc((void **)&d, 1024));
    IS(cudaErrorInvalidValue, cudaMemcpy3D(NULL));
    p.srcPtr = pitched(host_box, 16, 16);
    p.dstPtr = pitched(d, 16, 16);
    OK(cudaMemcpy3D(&p));
    /* One slice more does not fit. */
    p.extent.depth = 5;
    IS(cudaErrorInvalidValue, cudaMemcpy3DAsync(&p, s));
    IS(cudaErrorInvalidValue, cudaMemset3DAsync(pitched(d, 16, 16), 0, p.extent, s));
    p.extent.depth = (size_t)1 << 60;
    IS(cudaErrorInvalidValue, cudaMemcpy3DAsync(&p, s));
    p.extent = (struct cudaExtent){17, 4, 1};
    IS(cudaErrorInvalidPitchValue, cudaMemcpy3D(&p));
    p.extent = (struct cudaExtent){16, 17, 2};
    IS(cudaErrorInvalidPitchValue, cudaMemcpy3D(&p));
    p.extent = (struct cudaExtent){16, 0, 2};
    OK(cudaMemcpy3D(&p));
    OK(cudaMemset3D(pitched(d, 16, 16), 0, p.extent));
    p.extent = (struct cudaExtent){1, 1, (size_t)1 << 40};
    p.srcPtr = pitched(host_box, (size_t)1 << 32, (size_t)1 << 32);
    p.dstPtr = p.srcPtr;
    IS(cudaErrorInvalidValue, cudaMemcpy3DAsync(&p, s));
    OK(cudaFree(d));
}

int main(int argc, char **argv) { return run_named(argc, argv); }
