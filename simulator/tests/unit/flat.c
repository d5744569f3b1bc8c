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
#include <malloc.h>
#include <pthread.h>
#include "../cases.h"
#include "kernels.h"
#include "workbook.h"

#define KiB        ((size_t)1 << 10)
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

CASE(queried)
{
    pass_on();
    if (rounds % 10 == 0)
        finish_by_asking();
}

/* One block is used forever, by several streams in turn. */
CASE(kept_block)
{
    if (!kept)
        NEED(cudaMallocFromPoolAsync(&kept, MiB, pool, stream(0)));
    if (rounds % 10 == 0)
        finish_by_asking();
    NEED(cudaMemsetAsync((char *)kept + rounds % 1000 * 512, 0, 512, stream(0)));
    NEED(cudaEventRecord(event(0), stream(0)));
    NEED(cudaStreamWaitEvent(stream(1), event(0), 0));
}

CASE(event_objects)
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

CASE(stream_objects)
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
CASE(streams_unwaited)
{
    for (int i = 0; i < 400; i++) {
        cudaStream_t s;
        void *a = NULL;
        NEED(cudaStreamCreateWithFlags(&s, i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        NEED(cudaMallocFromPoolAsync(&a, 512, pool, s));
        NEED(cudaFreeAsync(a, s));
        NEED(cudaStreamDestroy(s));
    }
}

/* Work is queued faster than the device does it, and another stream waits for each piece. */
CASE(queued_faster)
{
    if (!kept)
        NEED(cudaMalloc(&kept, 64));
    for (int i = 0; i < 400; i++) {
        NEED(cudaMemsetAsync(kept, 0, 64, streams[0]));
        NEED(cudaEventRecord(events[0], streams[0]));
        NEED(cudaStreamWaitEvent(streams[1], events[0], 0));
    }
}

CASE(pool_objects)
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

CASE(graph_launches)
{
    if (!launched)
        launched = capture();
    NEED(cudaGraphLaunch(launched, stream(0)));
    if (rounds % 10 == 0)
        finish_by_asking();
}

CASE(graph_objects)
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

CASE(threads)
{
    pthread_t t;
    if (pthread_create(&t, NULL, thread_body, NULL))
        exit(2);
    pthread_join(t, NULL);
}

static void nothing(void *unused) { (void)unused; }

CASE(host_functions)
{
    NEED(cudaLaunchHostFunc(stream(0), nothing, NULL));
    if (rounds % 10 == 0)
        NEED(cudaStreamSynchronize(stream(0)));
}

/* A copy of pageable memory is staged. */
CASE(copies)
{
    static int pageable[1024];
    if (!kept)
        NEED(cudaMalloc(&kept, sizeof pageable));
    NEED(cudaMemcpyAsync(kept, pageable, sizeof pageable, cudaMemcpyHostToDevice, streams[0]));
    if (rounds % 10 == 0)
        finish_by_asking();
}

CASE(plain_memory)
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
    const struct named_case *one = named_cases;
    long n = argc == 3 ? atol(argv[2]) : 0;
    if (argc == 1)
        return run_case(argc, argv);
    while (one && strcmp(argv[1], one->name))
        one = one->next;
    if (!one || n < 1) {
        fprintf(stderr, "flat: expected a case (flat alone lists them) and a number of rounds\n");
        return 2;
    }
    /* Otherwise each thread has its own malloc arena, which mallinfo2 does not count. */
    mallopt(M_ARENA_MAX, 1);
    pool = pool_create();
    for (int i = 0; i < STREAMS; i++) {
        NEED(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        NEED(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }
    struct mallinfo2 first = {.arena = 0}, last;
    size_t first_addresses = 0, last_addresses;
    for (rounds = 1; rounds <= 10 * n; rounds++) {
        one->run();
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
        one->name, n, before / KiB, first_addresses / MiB, 10 * n, after / KiB,
        last_addresses / MiB);
    return after > before + SLACK || last_addresses > first_addresses + 4 * MiB;
}
