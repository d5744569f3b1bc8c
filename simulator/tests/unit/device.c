/* What a device says about itself, how much work it accepts, memory in rows and slices, and queries
 * about managed ranges: device NAME. What is refused of rows, and much more,
 * simulator/tests/facts/probe-pitch.c and probe-endless.c asked a real device. */
#define _GNU_SOURCE
#include "expect.h"

#include <unistd.h>

#include "kernels.h"
#include "workbook.h"

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

/* Each device has its own limits, which end with a reset. */
CASE(limits)
{
    size_t value = 0;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 * MiB));
    OK(cudaSetDevice(1));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    SAME(8 * MiB, value);
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    SAME(8 * MiB, value);
    IS(cudaErrorInvalidValue, cudaDeviceGetLimit(NULL, cudaLimitStackSize));
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
static volatile int *gate;
static int *data;

/* The work after the hold is pending. */
static void hold(void)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&data, 128));
    gate = gate_create();
    OK(launch_hold(gate, s));
}

static void finish(void)
{
    gate_open(gate);
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(data));
    gate_destroy(gate);
}

static void queue(int kernels)
{
    for (int i = 0; i < kernels; i++)
        OK(launch_fill(data, i, 16, s));
}

/* The nodes of a graph take room: these are one too many.
 * simulator/tests/facts/probe-queue.c asked a real device what else does. */
CASE(too_many_launches)
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
        OK(cudaGraphAddMemsetNode(&node, graph, &before, before != NULL, &set));
    }
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i <= ROOM / NODES; i++)
        OK(cudaGraphLaunch(exec, s));
    finish();
}

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
