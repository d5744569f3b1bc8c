/* A random walk over pools, memory, streams, events, and graphs that checks every invariant.
 *
 *   inside_walk ordered|loose STEPS [SEED] [EVERY] [THREADS]
 *
 * The invariants are checked after each EVERY steps (1). With THREADS, each has a world of its own.
 * An ordered walk uses and frees a block in one stream at a time, and passes it on to another by an
 * event. So it is a correct program: nothing may be reported, and every block keeps what was
 * written to it. A loose walk frees blocks in any stream, and does not use them.
 *
 * It is linked with the simulated device's own parts, so that it can call laws_broken. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/laws.h"
#include "os/os.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "check/report.h"
#include "kernels.h"

#define POOLS   4
#define STREAMS 4
#define BLOCKS  400
#define GRAPHS  4
#define THREADS 8
#define UNKNOWN (-1)

/* Memory of cudaMalloc, and of a pool that is not in `pools`, perhaps because it is destroyed. */
enum { PLAIN = -1, OTHER_POOL = -2 };

/* Home: its stream; value: that of its first int; pool: its number, or one of those above. */
struct block {
    char *at;
    size_t bytes;
    int home, value, pool;
};

struct world { /* the state of one host thread */
    uint64_t state;
    unsigned long step, steps;
    bool alone;
    struct block blocks[BLOCKS];
    int count;
    cudaStream_t streams[STREAMS];
    cudaEvent_t events[STREAMS], pass;
    cudaGraphExec_t graphs[GRAPHS];
    bool launched[GRAPHS];
    int *pinned; /* a gate for each stream, followed by the place where values are read to */
};

/* The last one's memory is on device 1, to which device 0 has access. */
static cudaMemPool_t pools[POOLS];
/* The bytes of `used` that cudaFree has left behind (measured: probe-cuda-free.txt). */
static _Atomic size_t left_behind[POOLS];
static bool is_ordered;
static struct world worlds[THREADS];
static long functions, failures;

/* ---- choosing ---- */

static uint32_t pick(struct world *w, uint32_t n)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return (uint32_t)(w->state >> 33) % n;
}

static size_t size(struct world *w)
{
    static const size_t some[] = {4,        511,      512,      513,         4096,     65536,
                                  100000,   1 * MiB,  2 * MiB,  2 * MiB + 1, 16 * MiB, 31 * MiB,
                                  32 * MiB, 33 * MiB, 64 * MiB, 100 * MiB};
    return pick(w, 4) ? some[pick(w, sizeof some / sizeof *some)]
                      : 1 + pick(w, 1u << (10 + pick(w, 16)));
}

static void wrong(const struct world *w, const char *what)
{
    fprintf(stderr, "inside_walk: after step %lu: %s\n", w->step, what);
    abort();
}

/* Returns whether the call succeeded. A device may be full, and a capture may forbid the call. */
static bool done(const struct world *w, cudaError_t e, const char *call)
{
    if (!e)
        return true;
    if (e != cudaErrorMemoryAllocation
        && (e < cudaErrorStreamCaptureUnsupported || e > cudaErrorStreamCaptureWrongThread)) {
        fprintf(stderr, "inside_walk: step %lu: %s returned %s\n", w->step, call,
                cudaGetErrorName(e));
        abort();
    }
    cudaGetLastError();
    if (e == cudaErrorMemoryAllocation)
        __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
    return false;
}
#define DONE(call) done(w, call, #call)

static bool is_capturing(struct world *w, int stream)
{
    enum cudaStreamCaptureStatus status;
    return cudaStreamIsCapturing(w->streams[stream], &status)
        || status != cudaStreamCaptureStatusNone;
}

static void set_gate(struct world *w, int i, int open)
{
    __atomic_store_n(&w->pinned[i], open, __ATOMIC_RELEASE);
}

static void open_gates(struct world *w)
{
    for (int i = 0; i < STREAMS; i++)
        set_gate(w, i, 1);
}

/* ---- blocks ---- */

static void allocate(struct world *w, int stream)
{
    struct block b = {.bytes = size(w), .home = stream, .value = UNKNOWN};
    cudaStream_t s = is_ordered || pick(w, 10) ? w->streams[stream] : cudaStreamLegacy;
    void *at = NULL;
    if (w->count == BLOCKS || is_capturing(w, stream))
        return;
    b.pool = (int)pick(w, POOLS + 2) - 2;
    if (b.pool == PLAIN)
        DONE(cudaMalloc(&at, b.bytes));
    else if (b.pool >= 0)
        DONE(cudaMallocFromPoolAsync(&at, b.bytes, pools[b.pool], s));
    else
        DONE(cudaMallocAsync(&at, b.bytes, s)); /* of a pool that is not among `pools` */
    b.at = at;
    if (at)
        w->blocks[w->count++] = b;
}

static bool move(struct world *w, struct block *b, int stream)
{
    if (b->home == stream)
        return true;
    if (is_capturing(w, stream) || is_capturing(w, b->home))
        return false;
    if (!DONE(cudaEventRecord(w->pass, w->streams[b->home]))
        || !DONE(cudaStreamWaitEvent(w->streams[stream], w->pass, 0)))
        return false;
    b->home = stream;
    return true;
}

static void free_block(struct world *w, int i, bool at_once)
{
    struct block a = w->blocks[i];
    int stream = is_ordered ? a.home : (int)pick(w, STREAMS);
    if (is_capturing(w, stream))
        return;
    if (at_once) {
        open_gates(w);
        if (!DONE(cudaStreamSynchronize(w->streams[stream])) || !DONE(cudaFree(a.at)))
            return;
        if (a.pool >= 0)
            left_behind[a.pool] += a.bytes;
    } else if (!DONE(cudaFreeAsync(a.at, w->streams[stream])))
        return;
    w->blocks[i] = w->blocks[--w->count];
}

static void use(struct world *w, struct block *b)
{
    int value = (int)(pick(w, 256) * 0x01010101u), *read_to = &w->pinned[STREAMS + b->home];
    struct block *other = &w->blocks[pick(w, (uint32_t)w->count)];
    size_t bytes = b->bytes < 256 ? b->bytes : 256, at = pick(w, 2) ? 0 : b->bytes / 2 / 4 * 4;
    if (is_capturing(w, b->home))
        return;
    switch (pick(w, 5)) {
    case 0:
        if (DONE(launch_fill((int *)b->at, value, bytes / 4, w->streams[b->home])))
            b->value = value;
        break;
    case 1:
        if (DONE(cudaMemsetAsync(b->at, value & 255, bytes, w->streams[b->home])))
            b->value = value;
        break;
    case 2: /* also in the middle */
        if (DONE(cudaMemsetAsync(b->at + at, value & 255, b->bytes - at < 4 ? b->bytes - at : 4,
                                 w->streams[b->home]))
            && !at)
            b->value = value;
        break;
    case 3:
        if (other == b || !move(w, other, b->home))
            break;
        if (DONE(cudaMemcpyAsync(b->at, other->at, 4, cudaMemcpyDeviceToDevice,
                                 w->streams[b->home])))
            b->value = other->value;
        break;
    default:
        if (!DONE(cudaMemcpyAsync(read_to, b->at, 4, cudaMemcpyDeviceToHost, w->streams[b->home])))
            break;
        open_gates(w);
        if (DONE(cudaStreamSynchronize(w->streams[b->home])) && b->value != UNKNOWN
            && *read_to != b->value)
            wrong(w, "a block holds another value than was written to it");
    }
}

/* ---- streams, events, pools ---- */

static void new_stream(struct world *w, int i)
{
    DONE(cudaStreamCreateWithFlags(&w->streams[i],
                                   pick(w, 3) ? cudaStreamNonBlocking : cudaStreamDefault));
}
static void new_event(struct world *w, int i)
{
    DONE(cudaEventCreateWithFlags(&w->events[i],
                                  pick(w, 2) ? cudaEventDisableTiming : cudaEventDefault));
}

/* Destroys the stream. What it has passes to the next one. */
static void replace_stream(struct world *w, int i)
{
    int heir = (i + 1) % STREAMS;
    for (int k = 0; k < STREAMS; k++)
        if (is_capturing(w, k))
            return;
    for (int k = 0; k < w->count; k++)
        if (w->blocks[k].home == i && !move(w, &w->blocks[k], heir))
            return;
    open_gates(w);
    if (DONE(cudaStreamDestroy(w->streams[i])))
        new_stream(w, i);
}

static void let_in(struct world *w, enum cudaMemAccessFlags flags)
{
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 0},
                                       .flags = flags};
    DONE(cudaMemPoolSetAccess(pools[POOLS - 1], &access, 1));
}

static void new_pool(struct world *w, int i)
{
    struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = i == POOLS - 1}};
    if (pick(w, 2))
        props.maxSize = (1 + pick(w, 8)) * 32 * MiB;
    if (DONE(cudaMemPoolCreate(&pools[i], &props)) && i == POOLS - 1)
        let_in(w, cudaMemAccessFlagsProtReadWrite);
    left_behind[i] = 0;
    for (int k = 0; k < w->count; k++)
        if (w->blocks[k].pool == i)
            w->blocks[k].pool = OTHER_POOL;
}

static void function(void *counter) { __atomic_fetch_add((long *)counter, 1, __ATOMIC_RELAXED); }

/* ---- graphs ---- */

/* Captures work in one stream, sometimes with a branch in another, and with other calls between. */
static void capture(struct world *w, int s, cudaGraphExec_t *exec)
{
    /* The last mode forbids calls of other threads. */
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeRelaxed,
                                                       cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeGlobal};
    cudaGraph_t graph = NULL;
    void *a = NULL, *b = NULL;
    int t = (s + 1) % STREAMS;
    bool branch = pick(w, 2);
    if (is_capturing(w, s) || is_capturing(w, t)
        || !DONE(cudaStreamBeginCapture(w->streams[s], modes[pick(w, w->alone ? 3 : 2)])))
        return;
    DONE(cudaMallocAsync(&a, size(w), w->streams[s]));
    if (a)
        DONE(cudaMemsetAsync(a, 1, 4, w->streams[s]));
    if (branch && DONE(cudaEventRecord(w->pass, w->streams[s]))
        && DONE(cudaStreamWaitEvent(w->streams[t], w->pass, 0))) {
        DONE(cudaMallocFromPoolAsync(&b, size(w), pools[0], w->streams[t]));
        if (b)
            DONE(launch_fill(b, 2, 1, w->streams[t]));
        /* Something else meanwhile; in some modes that invalidates the capture. */
        if (pick(w, 4))
            allocate(w, (s + 2) % STREAMS);
        if (b)
            DONE(cudaFreeAsync(b, w->streams[t]));
        if (pick(w, 8) && DONE(cudaEventRecord(w->pass, w->streams[t])))
            DONE(cudaStreamWaitEvent(w->streams[s], w->pass, 0));
    }
    if (pick(w, 2))
        DONE(cudaLaunchHostFunc(w->streams[s], function, &functions));
    if (a)
        DONE(cudaFreeAsync(a, w->streams[s]));
    if (!DONE(cudaStreamEndCapture(w->streams[s], &graph)) || !graph)
        return;
    if (!DONE(cudaGraphInstantiate(exec, graph, 0)))
        *exec = NULL;
    DONE(cudaGraphDestroy(graph));
}

static void graphs(struct world *w, int stream)
{
    uint32_t i = pick(w, GRAPHS);
    cudaGraphExec_t *graph_exec = &w->graphs[i];
    switch (pick(w, 4)) {
    case 0:
        if (*graph_exec && DONE(cudaGraphExecDestroy(*graph_exec)))
            *graph_exec = NULL;
        break;
    case 1: DONE(cudaDeviceGraphMemTrim(0)); break;
    default:
        if (!*graph_exec) {
            capture(w, stream, graph_exec);
            w->launched[i] = false;
        } else if (!is_capturing(w, stream)) {
            if (w->launched[i])
                open_gates(w); /* it may wait for the previous launch */
            if (DONE(cudaGraphLaunch(*graph_exec, w->streams[stream])))
                w->launched[i] = true;
        }
    }
}

/* ---- calls that must be rejected without effect ---- */

static void refused(struct world *w)
{
    void *p = NULL;
    int on_stack = 0;
    cudaError_t e = cudaSuccess;
    switch (pick(w, 5)) {
    case 0: e = cudaFreeAsync(&on_stack, w->streams[0]); break;
    case 1: e = cudaMallocFromPoolAsync(&p, (size_t)1 << 50, pools[0], w->streams[0]); break;
    case 2: e = cudaMemPoolTrimTo(NULL, 0); break;
    case 3:
        e = w->count && w->blocks[0].bytes > 1 ? cudaFreeAsync(w->blocks[0].at + 1, w->streams[0])
                                               : cudaErrorInvalidValue;
        break;
    default:
        e = w->count ? cudaMemsetAsync(w->blocks[0].at, 0, w->blocks[0].bytes + 1,
                                       w->streams[w->blocks[0].home])
                     : cudaErrorInvalidValue;
    }
    if (!e)
        wrong(w, "a call with a wrong argument was not refused");
    cudaGetLastError();
}

/* ---- one step ---- */

static void one_step(struct world *w)
{
    int i = (int)pick(w, STREAMS), p = (int)pick(w, POOLS), flag = (int)pick(w, 2);
    uint64_t threshold = pick(w, 3) ? (uint64_t)pick(w, 6) * 24 * MiB : UINT64_MAX;
    struct block *b = w->count ? &w->blocks[pick(w, (uint32_t)w->count)] : NULL;
    void *pinned = NULL;
    cudaError_t e;
    switch (pick(w, 40)) {
    default: allocate(w, i); break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
        if (b)
            free_block(w, (int)(b - w->blocks), false);
        break;
    case 16:
        if (b && b->pool != PLAIN)
            free_block(w, (int)(b - w->blocks), true);
        break;
    case 17:
    case 18:
    case 19:
    case 20:
    case 21:
    case 22:
        if (b && is_ordered)
            use(w, b);
        else if (w->step / 700 % 2 && b) /* the blocks become many, and then few again */
            free_block(w, (int)(b - w->blocks), false);
        else
            allocate(w, i);
        break;
    case 23:
        if (b && is_ordered)
            move(w, b, i);
        break;
    case 24: DONE(cudaEventRecord(w->events[i], w->streams[pick(w, STREAMS)])); break;
    case 25:
        if (!is_capturing(w, i))
            DONE(cudaStreamWaitEvent(w->streams[i], w->events[pick(w, STREAMS)], 0));
        break;
    case 26:
        if (!w->pinned[i] || is_capturing(w, i))
            break;
        set_gate(w, i, 0);
        if (!DONE(launch_hold(&w->pinned[i], w->streams[i])))
            set_gate(w, i, 1);
        break;
    case 27: set_gate(w, i, 1); break;
    case 28:
        e = flag ? cudaStreamQuery(w->streams[i]) : cudaEventQuery(w->events[i]);
        if (e != cudaErrorNotReady)
            done(w, e, "a query");
        break;
    case 29:
        open_gates(w);
        if (flag)
            DONE(cudaStreamSynchronize(w->streams[i]));
        else
            DONE(cudaEventSynchronize(w->events[i]));
        break;
    case 30: DONE(cudaMemPoolTrimTo(pools[p], (size_t)pick(w, 10) * 16 * MiB)); break;
    case 31:
        DONE(cudaMemPoolSetAttribute(pools[p], cudaMemPoolAttrReleaseThreshold, &threshold));
        break;
    case 32:
        DONE(cudaMemPoolSetAttribute(
            pools[p], (enum cudaMemPoolAttr)(cudaMemPoolReuseFollowEventDependencies + pick(w, 3)),
            &flag));
        break;
    case 33:
        if (pick(w, 4))
            break;
        open_gates(w);
        if (!DONE(cudaDeviceSynchronize()) || !w->alone || flag)
            break;
        let_in(w, cudaMemAccessFlagsProtNone);
        let_in(w, cudaMemAccessFlagsProtReadWrite);
        break;
    case 34:
        if (!w->alone || pick(w, 20))
            break;
        if (DONE(cudaMemPoolDestroy(pools[p])))
            new_pool(w, p);
        break;
    case 35:
        if (!pick(w, 10))
            replace_stream(w, i);
        break;
    case 36:
    case 37: graphs(w, i); break;
    case 38:
        if (flag)
            refused(w);
        else if (DONE(cudaEventDestroy(w->events[i])))
            new_event(w, i);
        break;
    case 39:
        if (flag) {
            if (!is_capturing(w, i))
                DONE(cudaLaunchHostFunc(w->streams[i], function, &functions));
            break;
        }
        open_gates(w);
        if (DONE(threshold % 2 ? cudaMallocHost(&pinned, 100)
                               : cudaMallocManaged(&pinned, MiB, cudaMemAttachGlobal)))
            DONE(threshold % 2 ? cudaFreeHost(pinned) : cudaFree(pinned));
    }
}

/* ---- invariants ---- */

static void look(const struct world *w)
{
    const char *broken = laws_broken();
    for (int i = 0; i < w->count && !broken; i++) {
        struct address_info first = memory_find(w->blocks[i].at),
                            last = memory_find(w->blocks[i].at + w->blocks[i].bytes - 1);
        if (first.kind != ADDRESS_ALLOCATED || first.range != last.range
            || first.bytes_left != w->blocks[i].bytes)
            broken = "a live block is not found, or not whole";
    }
    for (int i = 0; i < POOLS && !broken && w->alone; i++) {
        struct pool *p = pool_from_handle(pools[i]);
        size_t asked = left_behind[i];
        for (struct range *r = p->heap.first; r; r = r->next)
            asked += r->live ? r->requested : 0;
        if (asked != p->used)
            broken = "`used` of a pool is not the sum of what its live blocks asked for";
    }
    if (is_ordered && report_count())
        broken = "a correct program is reported";
    if (broken)
        wrong(w, broken);
}

/* Takes the lock, because a thread of the simulated device continues when this one is slow. */
static void check(const struct world *w)
{
    lock_acquire();
    look(w);
    lock_release();
}

/* ---- worlds ---- */

static void begin(struct world *w)
{
    DONE(cudaHostAlloc((void **)&w->pinned, 2 * STREAMS * sizeof *w->pinned, cudaHostAllocMapped));
    open_gates(w);
    for (int i = 0; i < STREAMS; i++)
        new_stream(w, i), new_event(w, i);
    DONE(cudaEventCreateWithFlags(&w->pass, cudaEventDisableTiming));
}

static void end(struct world *w)
{
    open_gates(w);
    DONE(cudaDeviceSynchronize());
    while (w->count)
        free_block(w, w->count - 1, w->blocks[w->count - 1].pool == PLAIN);
    for (int i = 0; i < GRAPHS; i++)
        if (w->graphs[i])
            DONE(cudaGraphExecDestroy(w->graphs[i]));
    for (int i = 0; i < STREAMS; i++) {
        DONE(cudaStreamDestroy(w->streams[i]));
        DONE(cudaEventDestroy(w->events[i]));
    }
    DONE(cudaEventDestroy(w->pass));
    DONE(cudaDeviceSynchronize());
    DONE(cudaFreeHost(w->pinned));
    memset(w, 0, sizeof *w);
}

static void begin_all(void)
{
    setenv("SIM_MEMORY", "2G", 0); /* small, so that a device is sometimes full */
    for (int i = 0; i < POOLS; i++)
        new_pool(&worlds[0], i);
}

static void end_all(void)
{
    for (int i = 0; i < POOLS; i++)
        cudaMemPoolDestroy(pools[i]);
    cudaDeviceSynchronize();
    cudaDeviceGraphMemTrim(0);
    check(&worlds[0]);
}

static void *run(void *world)
{
    struct world *w = world;
    for (unsigned long i = 0; i < w->steps; i++) {
        w->step++;
        one_step(w);
    }
    open_gates(w);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long numbers[4] = {0, 1, 1, 1};
    for (int i = 2; i < argc && i < 6; i++)
        numbers[i - 2] = strtoul(argv[i], NULL, 10);
    const unsigned long steps = numbers[0], seed = numbers[1], every = numbers[2],
                        threads = numbers[3];
    if (!steps || !every || !threads || threads > THREADS) {
        fprintf(stderr,
                "inside_walk: expected ordered or loose, STEPS [SEED] [EVERY] [THREADS, at most "
                "%d]\n",
                THREADS);
        return 2;
    }
    is_ordered = !strcmp(argv[1], "ordered");
    for (unsigned long t = 0; t < threads; t++)
        worlds[t].state = (seed * THREADS + t) * 0x9E3779B97F4A7C15u + 1;
    begin_all();
    for (unsigned long t = 0; t < threads; t++) {
        worlds[t].alone = threads == 1;
        worlds[t].steps = every;
        begin(&worlds[t]);
    }
    for (unsigned long i = 0; i < steps; i += every) {
        pthread_t running[THREADS];
        for (unsigned long t = 1; t < threads; t++)
            if (pthread_create(&running[t], NULL, run, &worlds[t]))
                return 2;
        run(&worlds[0]);
        for (unsigned long t = 1; t < threads; t++)
            pthread_join(running[t], NULL);
        for (unsigned long t = 0; t < threads; t++)
            check(&worlds[t]);
    }
    printf("%lu steps, %d blocks live at the end, %ld allocations found no memory\n", steps,
           worlds[0].count, failures);
    for (unsigned long t = 0; t < threads; t++)
        end(&worlds[t]);
    end_all();
    return 0;
}
