/* What every litmus program includes.
 *
 *     LITMUS(name, a, b)
 *     {
 *         ...
 *     }
 *
 * is a case with two streams, a and b; there may be none to three. NONBLOCKING_LITMUS is the same
 * with non-blocking streams. `count` ints fill 1 MiB. A program is a file of cases and runs the one
 * that its argument names: `accesses write_read`.
 *
 * IF_WRONG(...) is a statement of the incorrect variant alone, and IF_RIGHT(...) one of the correct
 * program alone. IF_WRONG_ELSE(x, y) is x in the one and y in the other. */
#ifndef LITMUS_H
#define LITMUS_H

#define _GNU_SOURCE
#include "../cases.h"
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

/* Only one of a case's two forms may use a stream or a variable. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"

static const size_t count = MiB / sizeof(int);

/* What the host has read goes here, so that no compiler leaves its loads out. */
static volatile int seen;

/* What the functions below have made: it is released after the case, when its device is idle. */
static struct kept {
    void *what;
    cudaError_t (*release)(void *what);
} kept[64];
static int kept_count;

static inline void *keep(void *what, cudaError_t (*release)(void *what))
{
    if (kept_count == sizeof kept / sizeof *kept)
        abort();
    kept[kept_count++] = (struct kept){what, release};
    return what;
}

/* Set by a case of which no error at its end is to be told. */
static bool may_fail;
#define AT_END(call) (may_fail ? (void)(call) : CHECK(call))

/* A case ends when the current device and device 0 are idle, or where it calls exit. */
static inline void release_kept(void)
{
    AT_END(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    AT_END(cudaDeviceSynchronize());
    while (kept_count > 0) {
        const struct kept *last = &kept[--kept_count];
        AT_END(last->release(last->what));
    }
}

static inline void *device_not_kept(size_t bytes)
{
    void *memory;
    CHECK(cudaMalloc(&memory, bytes));
    return memory;
}

static inline void *device_memory(size_t bytes) { return keep(device_not_kept(bytes), cudaFree); }

/* The case itself frees what is not kept. */
static inline void *pinned_not_kept(size_t bytes)
{
    void *memory;
    CHECK(cudaMallocHost(&memory, bytes));
    return memory;
}

static inline void *pinned_memory(size_t bytes)
{
    return keep(pinned_not_kept(bytes), cudaFreeHost);
}

/* From the current pool, in the order of the stream. The case frees it. */
static inline void *pool_memory(size_t bytes, cudaStream_t stream)
{
    void *memory;
    CHECK(cudaMallocAsync(&memory, bytes, stream));
    return memory;
}

static inline void *memory_of(cudaMemPool_t pool, size_t bytes, cudaStream_t stream)
{
    void *memory;
    CHECK(cudaMallocFromPoolAsync(&memory, bytes, pool, stream));
    return memory;
}

static inline cudaError_t free_in_legacy_stream(void *memory)
{
    CHECK(cudaFreeAsync(memory, cudaStreamLegacy));
    return cudaStreamSynchronize(cudaStreamLegacy);
}

/* The same, where its free is not what the case is about. */
static inline void *kept_pool_memory(size_t bytes, cudaStream_t stream)
{
    return keep(pool_memory(bytes, stream), free_in_legacy_stream);
}

static inline void *managed_memory(size_t bytes)
{
    void *memory;
    CHECK(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal));
    return keep(memory, cudaFree);
}

static inline struct cudaMemAccessDesc access_of(int device)
{
    return (struct cudaMemAccessDesc){.location = {cudaMemLocationTypeDevice, device},
                                      .flags = cudaMemAccessFlagsProtReadWrite};
}

static inline cudaMemPool_t pool_at(enum cudaMemLocationType location,
                                    enum cudaMemAllocationType type)
{
    struct cudaMemPoolProps props = {.allocType = type, .location.type = location};
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static inline void give_access(cudaMemPool_t pool, int device)
{
    struct cudaMemAccessDesc access = access_of(device);
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
}

static inline cudaError_t pool_release(void *pool) { return cudaMemPoolDestroy(pool); }

/* A pool of the host's memory, to which no device has access. */
static inline cudaMemPool_t closed_host_pool(void)
{
    return keep(pool_at(cudaMemLocationTypeHost, cudaMemAllocationTypePinned), pool_release);
}

/* Device 0 has access to it. */
static inline cudaMemPool_t host_pool(void)
{
    cudaMemPool_t pool = closed_host_pool();
    give_access(pool, 0);
    return pool;
}

/* A closed gate. */
static inline volatile int *gate_new(void) { return keep((void *)gate_create(), cudaFreeHost); }

static inline cudaError_t graph_release(void *graph) { return cudaGraphDestroy(graph); }

static inline cudaError_t exec_release(void *exec) { return cudaGraphExecDestroy(exec); }

static inline cudaGraph_t graph_new(void)
{
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    return keep(graph, graph_release);
}

/* Ends the stream's capture. */
static inline cudaGraph_t captured(cudaStream_t stream)
{
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    return keep(graph, graph_release);
}

static inline cudaGraphExec_t instantiate(cudaGraph_t graph, unsigned long long flags)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, flags));
    return keep(exec, exec_release);
}

/* Ends the stream's capture and makes its graph, which is destroyed, ready to be launched. */
static inline cudaGraphExec_t end_capture(cudaStream_t stream)
{
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = instantiate(graph, 0);
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

/* Host functions. */
static inline void nothing(void *unused) {}

static atomic_int flag;

static inline void set_flag(void *unused) { atomic_store(&flag, 1); }

/* The host waits for the flag without a call, or with calls that are none about it. */
static inline void sleep_until_set(void)
{
    while (!atomic_load(&flag))
        usleep(1000);
}

static inline void query_until_set(cudaStream_t stream)
{
    while (!atomic_load(&flag))
        (void)cudaStreamQuery(stream);
}

static inline cudaStream_t stream_new(unsigned flags)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

/* A blocking stream of the GPU, which is current then. */
static inline cudaStream_t stream_on(int device)
{
    CHECK(cudaSetDevice(device));
    return stream_new(cudaStreamDefault);
}

/* Memory of a GPU that is not current; GPU 0 is. */
static inline void *memory_on(int device, size_t bytes)
{
    CHECK(cudaSetDevice(device));
    void *memory = device_memory(bytes);
    CHECK(cudaSetDevice(0));
    return memory;
}

static inline cudaEvent_t event_new(void)
{
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    return event;
}

/* A new event that comes after what is in the stream so far. */
static inline cudaEvent_t event_after(cudaStream_t stream)
{
    cudaEvent_t event = event_new();
    CHECK(cudaEventRecord(event, stream));
    return event;
}

/* Makes `later` wait for what is in `first` so far. */
static inline void order(cudaStream_t first, cudaStream_t later)
{
    CHECK(cudaStreamWaitEvent(later, event_after(first), 0));
}

/* Another thread calls the function, and is joined. */
static inline void run_in_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, function, argument);
    pthread_join(thread, NULL);
}

/* Two threads call the function for `first`, which the held stream is to fill, and for `second`.
 * The stream goes on when both have begun to wait. */
static inline void run_two_threads(cudaStream_t stream, void *(*function)(void *), void *first,
                                   void *second)
{
    pthread_t threads[2];
    volatile int *gate = gate_new();
    CHECK(launch_hold(gate, stream));
    CHECK(launch_fill(first, 1, 1000, stream));
    pthread_create(&threads[0], NULL, function, first);
    pthread_create(&threads[1], NULL, function, second);
    usleep(20000);
    gate_open(gate);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
    int status = run_case(argc, argv);
    /* The leak check of compute-sanitizer needs the end of the context. */
    if (getenv("LITMUS_RESET") != NULL)
        cudaDeviceReset();
    return status;
}

#define LITMUS(...)             LITMUS_ANY(cudaStreamDefault, __VA_ARGS__)
#define NONBLOCKING_LITMUS(...) LITMUS_ANY(cudaStreamNonBlocking, __VA_ARGS__)
#define LITMUS_ANY(flags, ...)  LITMUS_FORM(__VA_ARGS__, 3, 2, 1, 0, )(flags, __VA_ARGS__)

#define LITMUS_FORM(name, a, b, c, number, ...) LITMUS_##number

#ifdef WRONG
#define IF_WRONG(...) __VA_ARGS__
#define IF_RIGHT(...)
#define IF_WRONG_ELSE(wrong, right) wrong
#else
#define IF_WRONG(...)
#define IF_RIGHT(...)               __VA_ARGS__
#define IF_WRONG_ELSE(wrong, right) right
#endif

#define LITMUS_0(flags, title)    LITMUS_CASE(flags, title, 0, (), (void))
#define LITMUS_1(flags, title, a) LITMUS_CASE(flags, title, 1, (s[0]), (cudaStream_t a))
#define LITMUS_2(flags, title, a, b) \
    LITMUS_CASE(flags, title, 2, (s[0], s[1]), (cudaStream_t a, cudaStream_t b))
#define LITMUS_3(flags, title, a, b, c)              \
    LITMUS_CASE(flags, title, 3, (s[0], s[1], s[2]), \
                (cudaStream_t a, cudaStream_t b, cudaStream_t c))

#define LITMUS_CASE(flags, title, number, streams, parameters) \
    static void title parameters;                              \
    static void run_##title(void)                              \
    {                                                          \
        cudaStream_t s[3];                                     \
        for (int i = 0; i < number; i++)                       \
            CHECK(cudaStreamCreateWithFlags(&s[i], flags));    \
        title streams;                                         \
        release_kept();                                        \
    }                                                          \
    LIST_CASE(title, run_##title)                              \
    static void title parameters

#endif
