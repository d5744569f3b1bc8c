/* Tests that the simulated device's memory stays flat. A round does something and undoes it, and
 * after ten times as many rounds the process may not be larger.
 *
 *   flat             prints the cases' names
 *   flat CASE N      runs N rounds, measures the process's memory, runs 9 N rounds more, and
 *                    measures again. Status 1 if it has grown.
 *
 * A case is named after what begins and ends in its rounds. It measures what malloc has given out,
 * and the addresses in use (VmSize), which include mmap. VmRSS would say less, because a page that
 * is first touched late is no leak. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels.h"

#define KiB        ((size_t)1 << 10)
#define MiB        ((size_t)1 << 20)
#define STREAMS    3
#define SLACK      (16 * KiB) /* of malloc; what is kept for ever in each of 9 N rounds is more */
#define NEED(call) need((call), #call)

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];
static cudaMemPool_t pool;
static cudaGraphExec_t launched;
static void *kept;  /* a block that all rounds use */
static long rounds; /* so far */

static void need(cudaError_t e, const char *call)
{
    if (!e)
        return;
    fprintf(stderr, "flat: round %ld: %s returned %s\n", rounds, call, cudaGetErrorName(e));
    exit(2);
}

static cudaStream_t stream(int i) { return streams[(rounds + i) % STREAMS]; }
static cudaEvent_t event(int i) { return events[(rounds + i) % STREAMS]; }
static size_t size(void) { return (size_t)(1 + rounds % 7) * 100 * KiB; }

/* Allocated in one stream, used there and in another, freed in a third, joined by events. */
static void pass_on(void)
{
    void *a = NULL;
    NEED(cudaMallocFromPoolAsync(&a, size(), pool, stream(0)));
    NEED(launch_fill(a, 1, 64, stream(0)));
    NEED(cudaEventRecord(event(0), stream(0)));
    NEED(cudaStreamWaitEvent(stream(1), event(0), 0));
    NEED(cudaMemsetAsync(a, 0, 256, stream(1)));
    NEED(cudaEventRecord(event(1), stream(1)));
    NEED(cudaStreamWaitEvent(stream(2), event(1), 0));
    NEED(cudaFreeAsync(a, stream(2)));
}

static void finish_by_asking(void)
{
    for (int i = 0; i < STREAMS; i++)
        while (cudaStreamQuery(streams[i]) == cudaErrorNotReady)
            continue;
}

static void synchronised(void)
{
    pass_on();
    if (rounds % 10 == 0)
        NEED(cudaStreamSynchronize(stream(2)));
}

static void queried(void)
{
    pass_on();
    if (rounds % 10 == 0)
        finish_by_asking();
}

static void unwatched(void) /* one stream, about which the host learns nothing */
{
    void *a = NULL;
    NEED(cudaMallocFromPoolAsync(&a, size(), pool, streams[0]));
    NEED(cudaMemsetAsync(a, 0, 256, streams[0]));
    NEED(cudaFreeAsync(a, streams[0]));
}

static void kept_block(void) /* one block is used forever, by several streams in turn */
{
    if (!kept)
        NEED(cudaMallocFromPoolAsync(&kept, MiB, pool, stream(0)));
    if (rounds % 10 == 0)
        finish_by_asking();
    NEED(cudaMemsetAsync((char *)kept + rounds % 1000 * 512, 0, 512, stream(0)));
    NEED(cudaEventRecord(event(0), stream(0)));
    NEED(cudaStreamWaitEvent(stream(1), event(0), 0));
}

static void event_objects(void)
{
    cudaEvent_t e;
    NEED(rounds % 2 ? cudaEventCreate(&e) : cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    NEED(cudaEventRecord(e, stream(0)));
    NEED(cudaEventRecord(e, stream(0)));
    NEED(cudaStreamWaitEvent(stream(1), e, 0));
    NEED(cudaEventDestroy(e));
    if (rounds % 10 == 0)
        finish_by_asking();
}

static void stream_objects(void)
{
    cudaStream_t s;
    void *a = NULL;
    NEED(cudaStreamCreateWithFlags(&s, rounds % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    NEED(cudaMallocFromPoolAsync(&a, size(), pool, s));
    NEED(cudaMemsetAsync(a, 0, 256, s));
    NEED(cudaFreeAsync(a, s));
    NEED(cudaStreamDestroy(s));
    if (rounds % 10 == 0)
        NEED(cudaDeviceSynchronize());
}

/* No wait covers the work of the destroyed streams. */
static void streams_unwaited(void)
{
    for (int i = 0; i < 500; i++) {
        cudaStream_t s;
        void *a = NULL;
        NEED(cudaStreamCreateWithFlags(&s, i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        NEED(cudaMallocFromPoolAsync(&a, 512, pool, s));
        NEED(cudaFreeAsync(a, s));
        NEED(cudaStreamDestroy(s));
    }
}

/* Work is queued faster than the device does it, and another stream waits for each piece. */
static void queued_faster(void)
{
    if (!kept)
        NEED(cudaMalloc(&kept, 64));
    for (int i = 0; i < 1000; i++) {
        NEED(cudaMemsetAsync(kept, 0, 64, streams[0]));
        NEED(cudaEventRecord(events[0], streams[0]));
        NEED(cudaStreamWaitEvent(streams[1], events[0], 0));
    }
}

static void empty_pools(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice};
    cudaMemPool_t own;
    NEED(cudaMemPoolCreate(&own, &props));
    NEED(cudaMemPoolDestroy(own));
}

static void pool_objects(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice};
    cudaMemPool_t own;
    void *a = NULL;
    if (rounds % 3 == 0)
        props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    NEED(cudaMemPoolCreate(&own, &props));
    NEED(cudaMallocFromPoolAsync(&a, size(), own, stream(0)));
    if (rounds % 2)
        NEED(cudaFreeAsync(a, stream(0)));
    NEED(cudaMemPoolDestroy(own));
    if (rounds % 2 == 0)
        NEED(cudaFreeAsync(a, stream(0)));
    NEED(cudaStreamSynchronize(stream(0)));
}

/* The other device is given access, uses it in a stream of its own, and loses it again. */
static void access_given(void)
{
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 1},
                                       cudaMemAccessFlagsProtReadWrite};
    cudaStream_t s;
    if (!kept)
        NEED(cudaMallocFromPoolAsync(&kept, MiB, pool, streams[0]));
    NEED(cudaDeviceSynchronize());
    NEED(cudaMemPoolSetAccess(pool, &access, 1));
    NEED(cudaSetDevice(1));
    NEED(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    NEED(cudaMemsetAsync(kept, 0, 256, s));
    NEED(cudaStreamSynchronize(s));
    NEED(cudaStreamDestroy(s));
    NEED(cudaSetDevice(0));
    access.flags = cudaMemAccessFlagsProtNone;
    NEED(cudaMemPoolSetAccess(pool, &access, 1));
}

static cudaGraphExec_t capture(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    void *a = NULL;
    NEED(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    NEED(cudaMallocAsync(&a, MiB, streams[0]));
    NEED(cudaMemsetAsync(a, 0, MiB, streams[0]));
    NEED(cudaFreeAsync(a, streams[0]));
    NEED(cudaStreamEndCapture(streams[0], &graph));
    NEED(cudaGraphInstantiate(&exec, graph, 0));
    NEED(cudaGraphDestroy(graph));
    return exec;
}

static void graph_launches(void)
{
    if (!launched)
        launched = capture();
    NEED(cudaGraphLaunch(launched, stream(0)));
    if (rounds % 10 == 0)
        finish_by_asking();
}

static void graph_objects(void)
{
    cudaGraphExec_t exec = capture();
    NEED(cudaGraphLaunch(exec, streams[0]));
    NEED(cudaStreamSynchronize(streams[0]));
    NEED(cudaGraphExecDestroy(exec));
}

static void *thread_body(void *unused)
{
    void *a = NULL;
    (void)unused;
    NEED(cudaMallocFromPoolAsync(&a, size(), pool, cudaStreamPerThread));
    NEED(cudaMemsetAsync(a, 0, 256, cudaStreamPerThread));
    NEED(cudaFreeAsync(a, cudaStreamPerThread));
    NEED(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

static void threads(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, thread_body, NULL))
        exit(2);
    pthread_join(t, NULL);
}

static void nothing(void *unused) { (void)unused; }

static void host_functions(void)
{
    NEED(cudaLaunchHostFunc(stream(0), nothing, NULL));
    if (rounds % 10 == 0)
        NEED(cudaStreamSynchronize(stream(0)));
}

static void copies(void) /* a copy of pageable memory is staged */
{
    static int pageable[1024];
    if (!kept)
        NEED(cudaMalloc(&kept, sizeof pageable));
    NEED(cudaMemcpyAsync(kept, pageable, sizeof pageable, cudaMemcpyHostToDevice, streams[0]));
    if (rounds % 10 == 0)
        finish_by_asking();
}

static void plain_memory(void)
{
    void *a = NULL, *b = NULL, *c = NULL;
    NEED(cudaMalloc(&a, size()));
    NEED(cudaMallocManaged(&b, size(), cudaMemAttachGlobal));
    NEED(cudaMallocHost(&c, size()));
    NEED(cudaMemsetAsync(a, 0, 256, stream(0)));
    NEED(cudaFree(a));
    NEED(cudaFree(b));
    NEED(cudaFreeHost(c));
}

static void wrong_calls(void)
{
    void *a = NULL;
    cudaMallocFromPoolAsync(&a, (size_t)1 << 50, pool, stream(0));
    cudaFreeAsync(&a, stream(0));
    cudaMemPoolTrimTo(NULL, 0);
    cudaGetLastError();
}

static const struct {
    const char *name;
    void (*round)(void);
} cases[] = {
    {"synchronised", synchronised},     {"queried", queried},
    {"unwatched", unwatched},           {"kept-block", kept_block},
    {"event-objects", event_objects},   {"stream-objects", stream_objects},
    {"pool-objects", pool_objects},     {"graph-launches", graph_launches},
    {"graph-objects", graph_objects},   {"threads", threads},
    {"host-functions", host_functions}, {"copies", copies},
    {"plain-memory", plain_memory},     {"wrong-calls", wrong_calls},
    {"access-given", access_given},     {"streams-unwaited", streams_unwaited},
    {"queued-faster", queued_faster},   {"empty-pools", empty_pools},
};
#define CASES (sizeof cases / sizeof *cases)

static size_t addresses(void)
{
    char line[256];
    size_t pages = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmSize: %zu kB", &pages);
    if (f)
        fclose(f);
    return pages * KiB;
}

int main(int argc, char **argv)
{
    size_t which = 0;
    long n = argc == 3 ? atol(argv[2]) : 0;
    for (size_t i = 0; argc == 1 && i < CASES; i++)
        puts(cases[i].name);
    if (argc == 1)
        return 0;
    while (which < CASES && strcmp(argv[1], cases[which].name))
        which++;
    if (which == CASES || n < 1) {
        fprintf(stderr, "flat: expected a case (flat alone lists them) and a number of rounds\n");
        return 2;
    }
    /* Otherwise each thread has its own malloc arena, which mallinfo2 does not count. */
    mallopt(M_ARENA_MAX, 1);
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice};
    NEED(cudaMemPoolCreate(&pool, &props));
    for (int i = 0; i < STREAMS; i++) {
        NEED(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        NEED(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }
    struct mallinfo2 first = {.arena = 0}, last;
    size_t first_addresses = 0, last_addresses;
    for (rounds = 1; rounds <= 10 * n; rounds++) {
        cases[which].round();
        if (rounds != n)
            continue;
        first = mallinfo2();
        first_addresses = addresses();
    }
    last = mallinfo2();
    last_addresses = addresses();
    NEED(cudaDeviceSynchronize());
    NEED(cudaFree(kept));
    size_t before = first.uordblks + first.hblkhd, after = last.uordblks + last.hblkhd;
    printf(
        "%s: %ld rounds: %zu KiB of malloc, %zu MiB of addresses; %ld rounds: %zu KiB, %zu MiB\n",
        cases[which].name, n, before / KiB, first_addresses / MiB, 10 * n, after / KiB,
        last_addresses / MiB);
    return after > before + SLACK || last_addresses > first_addresses + 4 * MiB;
}
