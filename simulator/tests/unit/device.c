/* What a device says about itself, and how much work it accepts: device NAME. */
#define _GNU_SOURCE
#include "expect.h"

#include <pthread.h>
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
    IS(cudaErrorUnsupportedLimit, cudaDeviceSetLimit((enum cudaLimit)99, 1));
    IS(cudaErrorUnsupportedLimit, cudaDeviceGetLimit(&value, (enum cudaLimit)99));
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

/* After a hold. */
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

CASE(full)
{
    hold();
    queue(ROOM);
    finish();
}

static void nothing(void *unused) { (void)unused; }

/* Each stream has its own queue, and these operations take room in none. */
CASE(full_otherwise)
{
    cudaStream_t other;
    cudaEvent_t e;
    hold();
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    queue(ROOM);
    for (int i = 0; i < 2000; i++) {
        void *p;
        OK(cudaMallocAsync(&p, 512, s));
        OK(cudaFreeAsync(p, s));
        OK(cudaEventRecord(e, s));
        OK(cudaStreamWaitEvent(other, e, 0));
        OK(cudaLaunchHostFunc(s, nothing, NULL));
    }
    for (int i = 0; i < ROOM; i++)
        OK(launch_fill(data, i, 16, other));
    finish();
    OK(cudaStreamSynchronize(other));
}

/* The nodes of a graph take room, whether they form a chain or not. */
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

static void *opens(void *unused)
{
    (void)unused;
    usleep(50000);
    __atomic_store_n(gate, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* The host continues when there is room, and the work is done in order. */
CASE(waits_for_room)
{
    pthread_t other;
    int value = 0;
    hold();
    pthread_create(&other, NULL, opens, NULL);
    queue(5 * ROOM);
    SAME(1, *gate);
    pthread_join(other, NULL);
    OK(cudaMemcpyAsync(&value, data, sizeof value, cudaMemcpyDeviceToHost, s));
    SAME(5 * ROOM - 1, value);
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

int main(int argc, char **argv) { return run_named(argc, argv); }
