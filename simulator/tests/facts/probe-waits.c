/* Records which calls wait for work that is pending in another stream: waits [LOOKS]. LOOKS looks
 * are enough to know that a call waits (probe.h). */
#include "probe.h"

static cudaStream_t busy; /* the stream with the pending work */
static int dummy[1 << 20];
static char pageable[4 << 20];
static void *m2, *pinned; /* 4 MiB each, of cudaMalloc's and pinned */
static void *a, *h;
static cudaMemPool_t pool;

#define WAITS(call) RECORD_WAIT(launch_hold(gate, busy), call, #call)

/* Which allocations and frees without a stream wait? */
CASE(allocations)
{
    puts("work is pending on a non-blocking stream s (a hold); "
         "t: another non-blocking stream, b: a blocking one");
    busy = s;
    WAITS(cudaMalloc(&m, MiB));
    WAITS(cudaFree(m));
    WAITS(cudaMalloc(&m, 64 * MiB));
    WAITS(cudaFree(m));
    WAITS(cudaFree(0));
    WAITS(cudaMallocHost(&h, MiB));
    WAITS(cudaFreeHost(h));
    WAITS(cudaHostAlloc(&h, MiB, cudaHostAllocMapped));
    WAITS(cudaFreeHost(h));
    WAITS(cudaHostRegister(dummy, sizeof dummy, 0));
    WAITS(cudaHostUnregister(dummy));

    /* Which allocations and frees in a stream wait, and does cudaFree of a pool's memory? */
    WAITS(cudaMallocAsync(&a, MiB, s));
    WAITS(cudaFreeAsync(a, s));
    WAITS(cudaMallocAsync(&a, MiB, t));
    WAITS(cudaFreeAsync(a, t));
    cudaMallocAsync(&a, MiB, t);
    WAITS(cudaFree(a));
    cudaMallocFromPoolAsync(&a, MiB, pool, s);
    WAITS(cudaFree(a));
    WAITS(cudaMallocAsync(&a, MiB, 0));
    WAITS(cudaFreeAsync(a, 0));

    /* Which calls about pools wait? */
    uint64_t z = 0;
    struct cudaMemPoolProps props = device_props();
    WAITS(cudaMemPoolTrimTo(pool, 0));
    WAITS(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &z));
    WAITS(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &z));
    cudaMallocFromPoolAsync(&a, MiB, pool, s);
    WAITS(cudaMemPoolDestroy(pool));
    cudaFreeAsync(a, s);
    WAITS(cudaMemPoolCreate(&pool, &props));
}

/* Which memsets and blocking copies wait? */
CASE(memsets_and_copies)
{
    WAITS(cudaMemset(m2, 0, 4));
    WAITS(cudaMemsetAsync(m2, 0, 4, t));
    WAITS(cudaMemsetAsync(m2, 0, 4, b));
    WAITS(cudaMemsetAsync(m2, 0, 4, s));
    WAITS(cudaMemcpy(m2, pageable, 4, cudaMemcpyHostToDevice));
    WAITS(cudaMemcpy(m2, pageable, sizeof pageable, cudaMemcpyHostToDevice));
    WAITS(cudaMemcpy(pageable, m2, 4, cudaMemcpyDeviceToHost));
    WAITS(cudaMemcpy(m2, (char *)m2 + MiB, MiB, cudaMemcpyDeviceToDevice));

    /* Which copies in a stream wait, from and to pageable and pinned memory? */
    WAITS(cudaMemcpyAsync(m2, pageable, 4, cudaMemcpyHostToDevice, s));
    WAITS(cudaMemcpyAsync(m2, pageable, 65536, cudaMemcpyHostToDevice, s));
    WAITS(cudaMemcpyAsync(m2, pageable, 65537, cudaMemcpyHostToDevice, s));
    WAITS(cudaMemcpyAsync(m2, pageable, sizeof pageable, cudaMemcpyHostToDevice, s));
    WAITS(cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, s));
    WAITS(cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, t));
    WAITS(cudaMemcpyAsync(m2, pinned, MiB, cudaMemcpyHostToDevice, s));
    WAITS(cudaMemcpyAsync(pinned, m2, MiB, cudaMemcpyDeviceToHost, s));
}

/* Which calls wait that make and destroy streams and events? */
CASE(streams_and_events)
{
    cudaStream_t u;
    cudaEvent_t e;
    WAITS(cudaStreamCreate(&u));
    WAITS(cudaStreamDestroy(u));
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    open_gate();
    launch_hold(gate, u);
    WAITS(cudaStreamDestroy(u));
    WAITS(cudaEventCreate(&e));
    WAITS(cudaEventRecord(e, s));
    WAITS(cudaEventRecord(e, s) ? cudaErrorUnknown : cudaEventDestroy(e));
    cudaEventCreate(&e);
    WAITS(cudaStreamWaitEvent(t, e, 0));

    /* Which synchronizations and queries wait? */
    WAITS(cudaStreamQuery(s));
    WAITS(cudaStreamSynchronize(t));
    WAITS(cudaStreamSynchronize(b));
    WAITS(cudaStreamSynchronize(0));
    WAITS(cudaStreamSynchronize(s));
    WAITS(cudaDeviceSynchronize());

    /* Which other calls wait? */
    size_t fr, tot;
    int v;
    struct cudaPointerAttributes pa;
    WAITS(cudaMemGetInfo(&fr, &tot));
    WAITS(cudaPointerGetAttributes(&pa, m2));
    WAITS(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0));
    WAITS(cudaSetDevice(0));
    WAITS(cudaLaunchHostFunc(s, nothing, 0));
    WAITS(cudaLaunchHostFunc(t, nothing, 0));
    WAITS(cudaMallocManaged(&h, MiB, cudaMemAttachGlobal));
    WAITS(cudaFree(h));

    /* From which size on does a copy from pageable memory wait? */
    static const size_t pieces[] = {65536, 131072, 262144, 524288, 1 << 20, 2 << 20, 3 << 20};
    for (int i = 0; i < 7; i++) {
        printf("%zu bytes: ", pieces[i]);
        WAITS(cudaMemcpyAsync(m2, pageable, pieces[i], cudaMemcpyHostToDevice, s));
    }
}

/* Which calls wait because the legacy stream waits for a blocking one? */
CASE(behind_blocking_stream)
{
    puts("work is pending on b, a blocking stream");
    busy = b;
    WAITS(cudaStreamSynchronize(0));
    WAITS(cudaStreamQuery(0));
    WAITS(cudaStreamSynchronize(t));
    WAITS(cudaMemset(m2, 0, 4));
    WAITS(cudaMemcpy(m2, pageable, 4, cudaMemcpyHostToDevice));
    WAITS(cudaMemcpy(m2, (char *)m2 + MiB, MiB, cudaMemcpyDeviceToDevice));
    WAITS(cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, t));
    WAITS(cudaStreamSynchronize(cudaStreamPerThread));
    WAITS((cudaMemsetAsync(m2, 0, 4, 0), cudaStreamQuery(0)));
    WAITS((cudaMemsetAsync(m2, 0, 4, 0), cudaStreamSynchronize(0)));
}

/* Which streams wait for the legacy stream? */
CASE(behind_legacy_stream)
{
    puts("work is pending on the legacy stream");
    busy = 0;
    WAITS(cudaStreamQuery(b));
    WAITS(cudaStreamSynchronize(b));
    WAITS((cudaMemsetAsync(m2, 0, 4, b), cudaStreamQuery(b)));
    WAITS((cudaMemsetAsync(m2, 0, 4, b), cudaStreamSynchronize(b)));
    WAITS((cudaMemsetAsync(m2, 0, 4, t), cudaStreamSynchronize(t)));
    WAITS((cudaMemsetAsync(m2, 0, 4, cudaStreamPerThread),
           cudaStreamSynchronize(cudaStreamPerThread)));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        wait_looks = atoi(argv[1]);
    set_up_process();
    cudaStreamCreate(&b);
    cudaEventCreate(&ev);
    cudaMalloc(&m2, 4 * MiB);
    pool = new_pool(0);
    cudaMallocHost(&pinned, 4 * MiB);
    /* Because the first use of a page takes time, a copy of many could be taken for a wait. */
    memset(pageable, 1, sizeof pageable);
    cudaMemset(m2, 0, sizeof pageable);
    return run_in_one_process();
}
