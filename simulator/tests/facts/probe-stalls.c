/* Records which calls wait for pending work, beyond those of waits.c: calls about pools that have
 * freed memory pending, exports, graphs, managed memory; and the calls that allocate and free with
 * work pending in a blocking stream and in the legacy stream: stalls [LOOKS]. */
#include "graphs.h"

static cudaStream_t busy;      /* the stream with the pending work */
static char pageable[4 << 20]; /* the host's, not pinned */
static void *m2, *pinned;      /* 4 MiB each, of cudaMalloc's and pinned */
static void *a, *h;
static cudaMemPool_t pool;

#define WAITS(call) RECORD_WAIT(launch_hold(gate, busy), call, #call)

/* With memory that is freed behind the pending work. */
#define WAITS_FREED(call)                                                                    \
    RECORD_WAIT((cudaMallocFromPoolAsync(&a, 64 * MiB, pool, busy), launch_hold(gate, busy), \
                 cudaFreeAsync(a, busy)),                                                    \
                call, "64 MiB freed behind it: " #call)

/* Which allocations wait: from a pool that grows, that has freed memory, that cannot grow? */
CASE(pool_allocations)
{
    cudaMemPool_t small = pool_with(UINT64_MAX, 64 * MiB, 0);
    WAITS(cudaMallocFromPoolAsync(&a, 256 * MiB, pool, s));
    WAITS(cudaFreeAsync(a, s));
    WAITS(cudaMallocFromPoolAsync(&a, 512 * MiB, pool, t));
    WAITS(cudaFreeAsync(a, t));
    WAITS_FREED(cudaMallocFromPoolAsync(&a, 64 * MiB, pool, s));
    cudaFreeAsync(a, s);
    WAITS_FREED(cudaMallocFromPoolAsync(&a, 64 * MiB, pool, t));
    cudaFreeAsync(a, t);
    RECORD_WAIT((cudaMallocFromPoolAsync(&a, 64 * MiB, small, s), launch_hold(gate, s),
                 cudaFreeAsync(a, s)),
                cudaMallocFromPoolAsync(&a, 64 * MiB, small, t),
                "all of a pool that cannot grow freed behind it: the same in t");
    cudaFreeAsync(a, t);
    cudaDeviceSynchronize();
    cudaMemPoolDestroy(small);
    RECORD_WAIT(launch_hold(gate, s), cudaFreeAsync(m, s), "cudaFreeAsync of cudaMalloc's, in s");
    cudaMalloc(&m, MiB);
    RECORD_WAIT(launch_hold(gate, s), cudaFreeAsync(m, t), "cudaFreeAsync of cudaMalloc's, in t");
    cudaMalloc(&m, MiB);

    /* Which calls about a pool wait for a free that is pending? */
    uint64_t value = 0;
    struct cudaMemAccessDesc desc = {{DEVICE, 0}, cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags;
    cudaMemPool_t current;
    WAITS_FREED(cudaMemPoolTrimTo(pool, 0));
    WAITS_FREED(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    WAITS_FREED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    WAITS_FREED(cudaMemPoolSetAccess(pool, &desc, 1));
    WAITS_FREED(cudaMemPoolGetAccess(&flags, pool, &desc.location));
    WAITS_FREED(cudaDeviceSetMemPool(0, pool));
    WAITS_FREED(cudaDeviceGetMemPool(&current, 0));
    WAITS_FREED(cudaDeviceGetDefaultMemPool(&current, 0));
    cudaDeviceSetMemPool(0, current);
    WAITS_FREED(cudaStreamSynchronize(t));
    WAITS_FREED(cudaMemPoolDestroy(pool));
    pool = new_pool(UINT64_MAX);

    /* Which calls wait that share a pool? */
    int fd = -1;
    struct cudaMemPoolPtrExportData data;
    cudaMemPool_t shared = shared_pool(UINT64_MAX), imported = NULL;
    void *p = NULL;
    enum cudaMemAllocationHandleType type = cudaMemHandleTypePosixFileDescriptor;
    cudaMallocFromPoolAsync(&a, MiB, shared, s);
    WAITS(cudaMemPoolExportToShareableHandle(&fd, shared, type, 0));
    WAITS(cudaMemPoolExportPointer(&data, a));
    WAITS(cudaMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)fd, type, 0));
    WAITS(cudaMemPoolImportPointer(&p, imported, &data));
    cudaFreeAsync(p, s);
    cudaFreeAsync(a, s);
    cudaDeviceSynchronize();
    cudaMemPoolDestroy(shared);
    close(fd);
}

static cudaGraph_t captured_pair(void)
{
    cudaGraph_t g = NULL;
    void *p;
    cudaStreamBeginCapture(t, RELAXED);
    cudaMallocAsync(&p, 64 * MiB, t);
    cudaMemsetAsync(p, 0, 64, t);
    cudaFreeAsync(p, t);
    cudaStreamEndCapture(t, &g);
    return g;
}

/* Which calls about graphs wait, and which of those wait for a launch of the same one? */
CASE(graphs)
{
    cudaGraphExec_t x, y;
    cudaGraph_t g = captured_pair(), captured;
    void *p;
    cudaGraphExec_t busy_one = freeing_graph(64 * MiB);
    WAITS(cudaGraphInstantiate(&x, g, 0));
    WAITS(cudaGraphUpload(x, t));
    WAITS(cudaGraphLaunch(x, t));
    WAITS(cudaGraphLaunch(x, t));
    WAITS(cudaGraphLaunch(x, s));
    WAITS(cudaDeviceGraphMemTrim(0));
    WAITS(cudaGraphExecDestroy(x));
    RECORD_WAIT((launch_hold(gate, s), cudaGraphLaunch(busy_one, s)), cudaGraphLaunch(busy_one, s),
                "launched behind it: cudaGraphLaunch of the same in s");
    RECORD_WAIT((launch_hold(gate, s), cudaGraphLaunch(busy_one, s)), cudaGraphLaunch(busy_one, t),
                "launched behind it: cudaGraphLaunch of the same in t");
    RECORD_WAIT((launch_hold(gate, s), cudaGraphLaunch(busy_one, s)), cudaDeviceGraphMemTrim(0),
                "launched behind it: cudaDeviceGraphMemTrim(0)");
    RECORD_WAIT((launch_hold(gate, s), cudaGraphLaunch(busy_one, s)),
                cudaGraphExecDestroy(busy_one), "launched behind it: cudaGraphExecDestroy");
    WAITS(cudaGraphDestroy(g));
    WAITS(cudaStreamBeginCapture(t, RELAXED));
    cudaStreamEndCapture(t, &captured);
    cudaStreamBeginCapture(t, RELAXED);
    cudaMallocAsync(&p, MiB, t);
    cudaFreeAsync(p, t);
    hold(s);
    const char *waits = OBSERVE(cudaStreamEndCapture(t, &captured));
    cudaDeviceSynchronize();
    print_wait("cudaStreamEndCapture(t, &captured)", waits);
    WAITS(cudaGraphInstantiate(&y, captured, 0));
    WAITS(cudaGraphExecDestroy(y));
    WAITS(cudaGraphDestroy(captured));
}

CASE(other_calls)
{
    cudaEvent_t e, early;
    float ms;
    void *managed;
    cudaEventCreate(&e);
    cudaEventCreate(&early);
    cudaEventRecord(early, t);
    cudaMallocManaged(&managed, MiB, cudaMemAttachGlobal);
    WAITS(launch_fill(m2, 1, 16, t));
    WAITS(launch_fill(m2, 1, 16, s));
    RECORD_WAIT(launch_hold(gate, s), cudaEventSynchronize(early),
                "cudaEventSynchronize of an event of t");
    RECORD_WAIT((launch_hold(gate, s), cudaEventRecord(e, s)), cudaEventSynchronize(e),
                "recorded behind it: cudaEventSynchronize");
    RECORD_WAIT((launch_hold(gate, s), cudaEventRecord(e, s)), cudaEventRecord(e, t),
                "recorded behind it: cudaEventRecord of the same in t");
    RECORD_WAIT((launch_hold(gate, s), cudaEventRecord(e, s)), cudaEventElapsedTime(&ms, early, e),
                "recorded behind it: cudaEventElapsedTime");
    RECORD_WAIT((launch_hold(gate, s), cudaEventRecord(e, s), cudaStreamWaitEvent(t, e, 0)),
                cudaEventDestroy(e), "t waits for what is recorded behind it: cudaEventDestroy");
    cudaEventCreate(&e);
    RECORD_WAIT((launch_hold(gate, s), cudaEventRecord(e, s), cudaStreamWaitEvent(t, e, 0)),
                cudaStreamDestroy(t), "t waits for what is recorded behind it: cudaStreamDestroy");
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    WAITS(cudaMemcpyAsync(m2, m, MiB, cudaMemcpyDeviceToDevice, s));
    WAITS(cudaMemcpyAsync(m2, m, MiB, cudaMemcpyDeviceToDevice, t));
    WAITS(cudaMemcpyAsync(pageable, m2, sizeof pageable, cudaMemcpyDeviceToHost, t));
    WAITS(cudaMemcpy(pinned, m2, MiB, cudaMemcpyDeviceToHost));
    WAITS(cudaMemcpy(m2, pinned, MiB, cudaMemcpyHostToDevice));
    struct cudaMemLocation device = {DEVICE, 0}, cpu = {HOST, 0};
    WAITS(cudaMemPrefetchAsync(managed, MiB, device, 0, t));
    WAITS(cudaMemPrefetchAsync(managed, MiB, cpu, 0, t));
    WAITS(cudaMemAdvise(managed, MiB, cudaMemAdviseSetReadMostly, device));
    WAITS(cudaStreamAttachMemAsync(t, managed, 0, cudaMemAttachGlobal));
    cudaFree(managed);
}

static void behind(cudaStream_t stream, const char *what)
{
    cudaStream_t u;
    cudaEvent_t e;
    busy = stream;
    printf("work is pending on %s\n", what);
    WAITS(cudaMalloc(&a, MiB));
    WAITS(cudaFree(a));
    WAITS(cudaMallocHost(&h, MiB));
    WAITS(cudaFreeHost(h));
    WAITS(cudaMallocManaged(&a, MiB, cudaMemAttachGlobal));
    WAITS(cudaFree(a));
    WAITS(cudaMallocAsync(&a, MiB, busy));
    WAITS(cudaFreeAsync(a, busy));
    WAITS(cudaMallocAsync(&a, MiB, s));
    WAITS(cudaFreeAsync(a, s));
    WAITS(cudaMallocAsync(&a, MiB, 0));
    WAITS(cudaFreeAsync(a, 0));
    cudaMallocAsync(&a, MiB, busy);
    WAITS(cudaFree(a));
    WAITS(cudaMemPoolTrimTo(pool, 0));
    WAITS_FREED(cudaMemPoolTrimTo(pool, 0));
    WAITS_FREED(cudaMemPoolDestroy(pool));
    pool = new_pool(UINT64_MAX);
    cudaStreamCreate(&u);
    WAITS(cudaStreamDestroy(u));
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    WAITS(cudaStreamDestroy(u));
    cudaEventCreate(&e);
    WAITS(cudaEventDestroy(e));
    WAITS(cudaMemset(m2, 0, 4));
    WAITS(cudaMemcpy(m2, pageable, 4, cudaMemcpyHostToDevice));
    WAITS(cudaMemcpy(m2, pageable, sizeof pageable, cudaMemcpyHostToDevice));
    WAITS(cudaMemcpy(m2, pinned, MiB, cudaMemcpyHostToDevice));
    WAITS(cudaMemcpy(pinned, m2, MiB, cudaMemcpyDeviceToHost));
    WAITS(cudaMemcpyAsync(m2, pageable, 4, cudaMemcpyHostToDevice, busy));
    WAITS(cudaMemcpyAsync(m2, pageable, sizeof pageable, cudaMemcpyHostToDevice, busy));
    WAITS(cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, busy));
    WAITS(cudaMemcpyAsync(m2, pinned, MiB, cudaMemcpyHostToDevice, busy));
    WAITS(cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, s));
}

CASE(behind_each_stream)
{
    behind(b, "b, a blocking stream");
    behind(0, "the legacy stream");
    behind(cudaStreamPerThread, "the stream of the thread");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        wait_looks = atoi(argv[1]);
    set_up_process();
    cudaStreamCreate(&b);
    cudaMalloc(&m, MiB);
    cudaMalloc(&m2, 4 * MiB);
    cudaMallocHost(&pinned, 4 * MiB);
    pool = new_pool(UINT64_MAX);
    puts("work is pending on a non-blocking stream s (a hold); "
         "t: another non-blocking stream, b: a blocking one");
    busy = s;
    return run_in_one_process();
}
