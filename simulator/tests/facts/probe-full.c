/* Records what happens when a device is full of memory that a pool keeps: whether another pool, a
 * graph or cudaMalloc gets it, whether a pool's own freed memory can be had again, and which of
 * those calls wait. Each case fills the device. */
#include "probe.h"

static const size_t GiB = 1024 * MiB;
enum { MOST = 1024 };

static cudaMemPool_t a, other;
static void *pieces[MOST];
static int count;
static const uint64_t all = UINT64_MAX;

/* How much a device has differs: so what is printed is how much pool A has less than when it filled
 * the device, or more. */
static unsigned long long filled;

static void print_reserved(const char *what)
{
    unsigned long long now = bytes_reserved(a);
    if (now == filled)
        NOTE("%s: pool A has all that it had", what);
    else if (!now)
        NOTE("%s: pool A has nothing", what);
    else
        NOTE("%s: pool A has %lld MiB less", what,
             ((long long)filled - (long long)now) / (1 << 20));
}

#define RESERVED_AFTER(call, what) ((void)(call), print_reserved(what))

static void fill_with(size_t bytes, size_t leave)
{
    while (count < MOST && free_now() > leave + bytes)
        if (cudaMallocFromPoolAsync(&pieces[count++], bytes, a, s))
            break;
}

/* Pool A has the whole device but for about 512 MiB. */
static void fill(void)
{
    a = new_pool(all);
    other = new_pool(all);
    fill_with(GiB, 512 * MiB);
    fill_with(64 * MiB, 512 * MiB);
    cudaStreamSynchronize(s);
    cudaGetLastError();
    filled = bytes_reserved(a);
    NOTE("pool A fills the device: %d", filled > 16 * GiB && free_now() < GiB);
}

static void free_all(void)
{
    for (int i = 0; i < count; i++)
        cudaFreeAsync(pieces[i], s);
}

static void fill_and_free(void)
{
    fill();
    free_all();
    cudaStreamSynchronize(s);
}

static void *p;

static void from_other_pool(void)
{
    cudaStream_t stream = t;
    RESERVED_AFTER(RECORD(cudaMallocFromPoolAsync(&p, 8 * GiB, other, stream)), "after it");
    RESERVED_AFTER(RECORD(cudaMallocFromPoolAsync(&p, 8 * GiB, other, stream)), "after it");
    RECORD(cudaStreamSynchronize(stream));
}

static void from_cuda_malloc(void)
{
    RESERVED_AFTER(RECORD(cudaMalloc(&p, 8 * GiB)), "after it");
    RESERVED_AFTER(RECORD(cudaMalloc(&p, 8 * GiB)), "after it");
}

CASE_AFTER(fill, live)
{
    from_other_pool();
    from_cuda_malloc();
    RECORD(cudaMallocFromPoolAsync(&p, 8 * GiB, a, s));
}

/* ---- kept: freed, synchronized, and below the threshold ---- */

CASE_AFTER(fill_and_free, kept_other_pool)
{
    print_reserved("freed and synchronized");
    from_other_pool();
}

CASE_AFTER(fill_and_free, kept_cuda_malloc) { from_cuda_malloc(); }

CASE_AFTER(fill_and_free, kept_default_pool)
{
    RESERVED_AFTER(RECORD(cudaMallocAsync(&p, 8 * GiB, t)), "after it");
}

CASE_AFTER(fill_and_free, kept_managed)
{
    RESERVED_AFTER(RECORD(cudaMallocManaged(&p, 8 * GiB, cudaMemAttachGlobal)), "after it");
}

/* A graph with memory, whose first launch needs it. */
static cudaGraphExec_t graph_of(size_t bytes)
{
    struct cudaMemAllocNodeParams params = {.poolProps = device_props(), .bytesize = bytes};
    cudaGraph_t graph;
    cudaGraphNode_t allocation, end;
    cudaGraphExec_t executable = NULL;
    cudaGraphCreate(&graph, 0);
    RECORD(cudaGraphAddMemAllocNode(&allocation, graph, NULL, 0, &params));
    RECORD(cudaGraphAddMemFreeNode(&end, graph, &allocation, 1, params.dptr));
    RECORD(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
}

CASE_AFTER(fill_and_free, kept_graph)
{
    cudaGraphExec_t x = graph_of(8 * GiB);
    RECORD_SYNC(cudaGraphLaunch(x, t), t);
    print_reserved("after it");
}

/* ---- freed, and nothing has waited for it ---- */

CASE_AFTER(fill, finished_other_pool)
{
    free_all();
    soon_over(s);
    from_other_pool();
}

CASE_AFTER(fill, finished_cuda_malloc)
{
    free_all();
    soon_over(s);
    from_cuda_malloc();
}

/* ---- freed behind work that is pending ---- */

/* Makes a call while s holds, with what was freed behind it. */
#define PENDING(call)                                                                 \
    do {                                                                              \
        fill();                                                                       \
        hold(s);                                                                      \
        free_all();                                                                   \
        observe();                                                                    \
        cudaError_t result_ = (call);                                                 \
        int waited_ = call_waited(), busy_ = cudaStreamQuery(t) == cudaErrorNotReady; \
        print_reserved("after it");                                                   \
        end_observation();                                                            \
        printf("%-60s %-14s %s, t is %s\n", #call, wait_in_words(waited_),            \
               cudaGetErrorName(result_), busy_ ? "pending" : "idle");                \
        cudaGetLastError();                                                           \
        RECORD(cudaDeviceSynchronize());                                              \
    } while (0)

CASE(pending_other_pool) { PENDING(cudaMallocFromPoolAsync(&p, 8 * GiB, other, t)); }
CASE(pending_cuda_malloc) { PENDING(cudaMalloc(&p, 8 * GiB)); }
CASE(pending_same_stream) { PENDING(cudaMallocFromPoolAsync(&p, 8 * GiB, a, s)); }
CASE(pending_same_pool) { PENDING(cudaMallocFromPoolAsync(&p, GiB, a, t)); }
CASE(pending_same_pool_larger) { PENDING(cudaMallocFromPoolAsync(&p, 8 * GiB, a, t)); }

static cudaError_t allocate_without_internal(size_t bytes)
{
    set_flag(a, cudaMemPoolReuseAllowInternalDependencies, 0);
    return cudaMallocFromPoolAsync(&p, bytes, a, t);
}

CASE(pending_without_internal) { PENDING(allocate_without_internal(8 * GiB)); }

CASE(graph_kept_cuda_malloc)
{
    a = new_pool(all);
    other = new_pool(all);
    size_t most = free_now() - GiB;
    cudaGraphExec_t x = graph_of(most);
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    RECORD(cudaMallocFromPoolAsync(&p, 8 * GiB, other, t));
    RECORD(cudaMalloc(&p, 8 * GiB));
}

/* Nothing but cudaMalloc's: what does a pool return that cannot grow? */
CASE(full_of_cuda_malloc)
{
    void *q;
    other = new_pool(all);
    RECORD(cudaMalloc(&q, free_now() - GiB));
    RECORD(cudaMallocFromPoolAsync(&p, 8 * GiB, other, t));
    RECORD(cudaMallocFromPoolAsync(&p, MiB, other, t));
    RECORD(cudaFree(q));
    RECORD(cudaMallocFromPoolAsync(&p, 8 * GiB, other, t));
}

/* An allocation that maxSize stops: what do its pool, another pool and the memory of graphs keep? */
CASE(stopped_by_max_size)
{
    struct cudaMemPoolProps props = device_props();
    props.maxSize = 128 * MiB;
    cudaGraphExec_t x = graph_of(64 * MiB);
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    other = new_pool(all);
    cudaMallocFromPoolAsync(&p, 64 * MiB, other, s);
    cudaFreeAsync(p, s);
    unsigned long long of_graphs;
    cudaMemPoolCreate(&a, &props);
    cudaMallocFromPoolAsync(&p, 32 * MiB, a, s);
    for (size_t bytes = 225 * MiB, keep = 64 * MiB; bytes > 64 * MiB; bytes -= 64 * MiB) {
        cudaStreamSynchronize(s);
        set_threshold(a, keep);
        NOTE("%zu MiB, and the threshold is %zu", bytes / MiB, keep / MiB);
        RECORD(cudaMallocFromPoolAsync(&p, bytes, a, s));
        cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &of_graphs);
        NOTE("the pool %llu MiB, at most %llu, another %llu, graphs %llu", bytes_reserved(a) / MiB,
             pool_figure(a, cudaMemPoolAttrReservedMemHigh) / MiB, bytes_reserved(other) / MiB,
             of_graphs / MiB);
    }
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
