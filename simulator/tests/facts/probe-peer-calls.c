/* Records, with two GPUs: whether opening and closing access between them waits for work, and what
 * it returns; which calls wait for work that is pending on the other GPU; a reset of one of the
 * two; what a new pool has of a destroyed one's access. */
#include "probe.h"

static cudaStream_t far, far_blocking; /* of GPU 1 */
static int *near_memory, *far_memory;

static void prepare(void)
{
    cudaMalloc((void **)&near_memory, MiB);
    cudaSetDevice(1);
    cudaStreamCreateWithFlags(&far, cudaStreamNonBlocking);
    cudaStreamCreate(&far_blocking);
    cudaMalloc((void **)&far_memory, MiB);
    launch_hold(gate, far);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    cudaDeviceSynchronize();
}

static void synchronize_far(void)
{
    cudaSetDevice(1);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
}

/* The stream that has the pending work; that of a GPU which is not current must not be the legacy
 * one. */
static cudaStream_t busy;

static void hold_busy(void)
{
    if (busy == far_blocking || busy == far)
        cudaSetDevice(1);
    launch_hold(gate, busy);
    cudaSetDevice(0);
}

#define WAITS(call)                            \
    do {                                       \
        RECORD_WAIT(hold_busy(), call, #call); \
        synchronize_far();                     \
    } while (0)

static void access_behind(cudaStream_t stream, const char *what)
{
    busy = stream;
    printf("work is pending in %s\n", what);
    WAITS(cudaDeviceEnablePeerAccess(1, 0));
    WAITS(cudaDeviceDisablePeerAccess(1));
}

/* Do the two calls wait for work of either GPU? The memory of the other one is 1 MiB, and then 1
 * GiB more. */
CASE_AFTER(prepare, access_waits)
{
    void *more = NULL;
    for (int round = 0; round < 2; round++) {
        access_behind(s, "a non-blocking stream of GPU 0, which is current");
        access_behind(b, "a blocking stream of GPU 0");
        access_behind(0, "the legacy stream of GPU 0");
        access_behind(far, "a non-blocking stream of GPU 1");
        access_behind(far_blocking, "a blocking stream of GPU 1");
        cudaSetDevice(1);
        cudaMalloc(&more, 1024 * MiB);
        cudaSetDevice(0);
        if (!round)
            puts("1 GiB more on GPU 1");
    }
}

/* What becomes of pending work that uses the other GPU's memory when access to it is closed? */
static void access_closed(int with_memset)
{
    prepare();
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
    hold(s);
    if (with_memset)
        RECORD(cudaMemsetAsync(far_memory, 1, MiB, s));
    else
        RECORD(launch_fill(far_memory, 1, 16, s));
    const char *waits = OBSERVE(cudaDeviceDisablePeerAccess(1));
    NOTE("to close it: %s, %s", waits, cudaGetErrorName(observed));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
}

CASE(access_closed_kernel) { access_closed(0); }
CASE(access_closed_memset) { access_closed(1); }

/* Which codes do the calls about access return? */
CASE_AFTER(prepare, access_codes)
{
    int can = 7;
    RECORD(cudaDeviceCanAccessPeer(&can, 0, 1));
    NOTE("%d", can);
    RECORD(cudaDeviceCanAccessPeer(&can, 0, 0));
    NOTE("%d", can);
    RECORD(cudaDeviceCanAccessPeer(&can, 0, 99));
    RECORD(cudaDeviceCanAccessPeer(&can, -1, 0));
    RECORD(cudaDeviceCanAccessPeer(NULL, 0, 1));
    RECORD(cudaDeviceDisablePeerAccess(1));
    RECORD(cudaDeviceEnablePeerAccess(1, 1));
    RECORD(cudaDeviceEnablePeerAccess(0, 0));
    RECORD(cudaDeviceEnablePeerAccess(99, 0));
    RECORD(cudaDeviceEnablePeerAccess(-1, 0));
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
    RECORD(cudaDeviceDisablePeerAccess(0));
    RECORD(cudaDeviceDisablePeerAccess(99));
    RECORD(cudaDeviceDisablePeerAccess(1));
    RECORD(cudaDeviceDisablePeerAccess(1));
}

/* ---- which calls wait for work of the other GPU? ---- */

static void stalls(cudaStream_t stream, const char *what)
{
    static char pageable[4096];
    cudaStream_t u;
    cudaEvent_t e;
    size_t free_bytes, total;
    busy = stream;
    printf("GPU 0 is current, and work is pending in %s stream of GPU 1\n", what);

    void *p = NULL, *h = NULL;
    WAITS(cudaMalloc(&p, MiB));
    WAITS(cudaFree(p));
    WAITS(cudaMalloc(&p, 64 * MiB));
    WAITS(cudaFree(p));
    WAITS(cudaMallocHost(&h, MiB));
    WAITS(cudaFreeHost(h));
    WAITS(cudaMallocManaged(&p, MiB, cudaMemAttachGlobal));
    WAITS(cudaFree(p));
    WAITS(cudaMallocAsync(&p, MiB, s));
    WAITS(cudaFreeAsync(p, s));
    WAITS(cudaMallocAsync(&p, MiB, 0));
    WAITS(cudaFreeAsync(p, 0));
    WAITS(cudaMallocAsync(&p, MiB, far));
    WAITS(cudaFreeAsync(p, far));

    cudaMemPool_t pool = NULL;
    struct cudaMemPoolProps props = device_props();
    struct cudaMemAccessDesc desc = {{cudaMemLocationTypeDevice, 1},
                                     cudaMemAccessFlagsProtReadWrite};
    p = NULL;
    WAITS(cudaMemPoolCreate(&pool, &props));
    WAITS(cudaMallocFromPoolAsync(&p, MiB, pool, s));
    WAITS(cudaMemPoolSetAccess(pool, &desc, 1));
    desc.flags = cudaMemAccessFlagsProtNone;
    WAITS(cudaMemPoolSetAccess(pool, &desc, 1));
    WAITS(cudaFreeAsync(p, s));
    WAITS(cudaMemPoolTrimTo(pool, 0));
    WAITS(cudaMemPoolDestroy(pool));

    WAITS(cudaStreamCreate(&u));
    WAITS(cudaStreamDestroy(u));
    WAITS(cudaEventCreate(&e));
    WAITS(cudaEventDestroy(e));
    WAITS(cudaMemGetInfo(&free_bytes, &total));
    WAITS(cudaMemset(m, 0, 4096));
    WAITS(cudaMemcpy(m, pageable, 4096, cudaMemcpyHostToDevice));
    WAITS(cudaMemcpy(pageable, m, 4096, cudaMemcpyDeviceToHost));
    WAITS(cudaMemcpy(host, m, 4096, cudaMemcpyDeviceToHost));
    WAITS(cudaMemcpyAsync(pageable, m, 4096, cudaMemcpyDeviceToHost, s));
    WAITS(cudaStreamSynchronize(0));
    WAITS(cudaDeviceSynchronize());
    WAITS(cudaMemcpy(host, far_memory, 4096, cudaMemcpyDeviceToHost));
    WAITS(cudaMemset(far_memory, 0, 4096));
}

CASE_AFTER(prepare, stalls_non_blocking) { stalls(far, "a non-blocking"); }

CASE_AFTER(prepare, stalls_blocking) { stalls(far_blocking, "a blocking"); }

/* Does a reset of GPU 0 wait for work of GPU 1, and does it leave that GPU alone? The gate would go
 * with GPU 0: so the work is host functions. */
CASE_AFTER(prepare, reset_of_one)
{
    cudaSetDevice(1);
    RECORD(cudaLaunchHostFunc(far, sleep_300ms, NULL));
    cudaSetDevice(0);
    RECORD(cudaDeviceReset());
    NOTE("the work of GPU 1 is over: %d", function_over);
    cudaSetDevice(1);
    RECORD(cudaStreamSynchronize(far));
    NOTE("and now: %d", function_over);
    RECORD(launch_fill(far_memory, 1, 16, far));
    RECORD_SYNC(cudaMemset(far_memory, 0, MiB), far);
    RECORD(cudaFree(far_memory));
    RECORD(cudaMemset(near_memory, 0, MiB));
}

/* Does a new pool have the access that a destroyed one was given, when its handle is the same? */
CASE_AFTER(prepare, access_of_new_pool)
{
    cudaMemPool_t pool = NULL, before = NULL;
    struct cudaMemPoolProps props = device_props();
    void *p = NULL;
    for (int round = 0; round < 4; round++) {
        cudaMemPoolCreate(&pool, &props);
        printf("pool %d: the handle of the one before %d, access of GPU 1 %d", round,
               pool == before, pool_access(pool, 1));
        p = ready_memory(pool, MiB);
        cudaError_t error = cudaMemsetAsync(p, 0, MiB, far);
        printf(", a memset by GPU 1: %s\n", cudaGetErrorName(error));
        cudaStreamSynchronize(far);
        cudaGetLastError();
        give_access(pool, location_of(DEVICE, 1), cudaMemAccessFlagsProtReadWrite);
        free_and_wait(p);
        cudaMemPoolDestroy(pool);
        before = pool;
    }
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
