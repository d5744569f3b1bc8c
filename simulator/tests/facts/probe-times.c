/* Records how long things take: host microseconds of calls, device microseconds of work. Each line
 * is the median, the least and the most of 25 rounds. */
#include "probe.h"

enum { ROUNDS = 25 };

static int *big;                /* 1 GiB of the device's */
static char *pinned, *pageable; /* 256 MiB and 64 MiB */
static cudaMemPool_t pool, def;
static struct cudaMemPoolProps props;
static uint64_t th = UINT64_MAX;
static cudaEvent_t e, e0, e1; /* e: without timing */

static void sleep_10ms(void *unused) { usleep(10000); }

static void print_times(const char *what, double times[ROUNDS])
{
    qsort(times, ROUNDS, sizeof *times, by_value);
    printf("%-66s %10.3f us (min %.3f max %.3f)\n", what, times[ROUNDS / 2], times[0],
           times[ROUNDS - 1]);
}

/* Host microseconds of one call. A round is `repeats` calls, of number i, between two clock
 * readings; the device is idle before. What comes before and after a round is not timed. */
#define TIME(text, repeats, before, call, after)              \
    do {                                                      \
        double times_[ROUNDS];                                \
        for (int round_ = 0; round_ < ROUNDS; round_++) {     \
            before;                                           \
            cudaDeviceSynchronize();                          \
            double begin_ = now_us();                         \
            for (int i = 0; i < (repeats); i++) {             \
                call;                                         \
            }                                                 \
            times_[round_] = (now_us() - begin_) / (repeats); \
            after;                                            \
        }                                                     \
        print_times("host   " text, times_);                  \
    } while (0)

#define NOTHING                                 (void)0
#define HOST_TIME(repeats, before, call, after) TIME(#call, repeats, before, call, after)
#define HOST_TIME_OF(repeats, call)             TIME(#call, repeats, NOTHING, call, NOTHING)
#define EACH(count, call)             \
    for (int i = 0; i < (count); i++) \
    call

/* Device microseconds of work between two events. It is queued behind a gate: so the host's own
 * time plays no part. */
#define DEVICE_TIME(label, work)                          \
    do {                                                  \
        double times_[ROUNDS];                            \
        for (int round_ = 0; round_ < ROUNDS; round_++) { \
            hold(s);                                      \
            cudaEventRecord(e0, s);                       \
            work;                                         \
            cudaEventRecord(e1, s);                       \
            times_[round_] = open_and_time();             \
        }                                                 \
        print_times("device " label, times_);             \
    } while (0)

static double open_and_time(void)
{
    float ms;
    __sync_synchronize();
    open_gate();
    cudaStreamSynchronize(s);
    cudaEventElapsedTime(&ms, e0, e1);
    return 1e3 * ms;
}

/* ---- what does a call cost the host? ---- */

/* What do allocations and frees cost the host: of pools, of the device, of pinned memory? */
CASE(allocations)
{
    void *p[100], *h = 0;
    EACH(100, cudaMallocAsync(&p[i], MiB, s));
    EACH(100, cudaFreeAsync(p[i], s));
    cudaDeviceSynchronize();
    HOST_TIME(100, NOTHING, cudaMallocAsync(&p[i], MiB, s), EACH(100, cudaFreeAsync(p[i], s)));
    HOST_TIME(100, EACH(100, cudaMallocAsync(&p[i], MiB, s)), cudaFreeAsync(p[i], s), NOTHING);
    HOST_TIME_OF(1000, cudaMallocAsync(&m, MiB, s); cudaFreeAsync(m, s));
    HOST_TIME(100, NOTHING, cudaMalloc(&p[i], MiB), EACH(100, cudaFree(p[i])));
    HOST_TIME(100, EACH(100, cudaMalloc(&p[i], MiB)), cudaFree(p[i]), NOTHING);
    HOST_TIME(10, NOTHING, cudaMallocHost(&p[i], MiB), EACH(10, cudaFreeHost(p[i])));
    HOST_TIME(10, EACH(10, cudaMallocHost(&p[i], MiB)), cudaFreeHost(p[i]), NOTHING);
    HOST_TIME(1, NOTHING, cudaMallocHost(&h, 64 * MiB), cudaFreeHost(h));
    HOST_TIME(1, cudaMallocHost(&h, 64 * MiB), cudaFreeHost(h), NOTHING);

    /* What do streams and events cost? */
    cudaStream_t u[100];
    cudaEvent_t ev[100];
    HOST_TIME(50, NOTHING, cudaStreamCreateWithFlags(&u[i], cudaStreamNonBlocking),
              EACH(50, cudaStreamDestroy(u[i])));
    HOST_TIME(50, EACH(50, cudaStreamCreateWithFlags(&u[i], cudaStreamNonBlocking)),
              cudaStreamDestroy(u[i]), NOTHING);
    HOST_TIME(100, NOTHING, cudaEventCreate(&ev[i]), EACH(100, cudaEventDestroy(ev[i])));
    HOST_TIME(100, EACH(100, cudaEventCreate(&ev[i])), cudaEventDestroy(ev[i]), NOTHING);
    HOST_TIME_OF(100, cudaEventRecord(e, s));
    HOST_TIME(100, cudaEventRecord(e, s), cudaStreamWaitEvent(t, e, 0), NOTHING);

    /* What do synchronizations and queries cost when there is nothing to wait for? */
    HOST_TIME_OF(100, cudaStreamSynchronize(s));
    HOST_TIME_OF(100, cudaDeviceSynchronize());
    HOST_TIME(100, cudaEventRecord(e, s), cudaEventSynchronize(e), NOTHING);
    HOST_TIME_OF(100, cudaStreamQuery(s));
    HOST_TIME(100, cudaEventRecord(e, s), cudaEventQuery(e), NOTHING);
}

/* What does it cost to put work into a stream? */
CASE(work_in_streams)
{
    HOST_TIME_OF(100, launch_fill(big, 1, 1, s));
    HOST_TIME_OF(100, cudaMemsetAsync(big, 0, 4, s));
    HOST_TIME_OF(100, cudaMemcpyAsync(big, pinned, 4, cudaMemcpyHostToDevice, s));
    HOST_TIME_OF(100, cudaMemcpyAsync(pinned, big, 4, cudaMemcpyDeviceToHost, s));
    HOST_TIME_OF(100, cudaMemcpyAsync(big, big + 1024, 4, cudaMemcpyDeviceToDevice, s));
    HOST_TIME_OF(100, cudaMemcpyAsync(big, pageable, 4, cudaMemcpyHostToDevice, s));
    HOST_TIME_OF(100, cudaMemcpyAsync(pageable, big, 4, cudaMemcpyDeviceToHost, s));
    HOST_TIME_OF(100, cudaMemcpy(big, pageable, 4, cudaMemcpyHostToDevice));
    HOST_TIME_OF(100, cudaMemcpy(pageable, big, 4, cudaMemcpyDeviceToHost));
    HOST_TIME_OF(20, cudaLaunchHostFunc(s, nothing, 0));

    /* What does it cost to put work into a stream and to wait for it? */
    HOST_TIME_OF(1, cudaLaunchHostFunc(s, nothing, 0); cudaStreamSynchronize(s));
    HOST_TIME_OF(1, launch_fill(big, 1, 1, s); cudaStreamSynchronize(s));
    HOST_TIME_OF(1, cudaMemsetAsync(big, 0, 4, s); cudaStreamSynchronize(s));

    /* What do calls about pools cost? */
    uint64_t got;
    HOST_TIME(1, NOTHING, cudaMemPoolCreate(&pool, &props), cudaMemPoolDestroy(pool));
    HOST_TIME(1, cudaMemPoolCreate(&pool, &props), cudaMemPoolDestroy(pool), NOTHING);
    HOST_TIME_OF(100, cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, &th));
    HOST_TIME_OF(100, cudaMemPoolGetAttribute(def, cudaMemPoolAttrReservedMemCurrent, &got));
    HOST_TIME_OF(100, cudaMemPoolTrimTo(def, SIZE_MAX));

    /* What do calls cost that only return something? */
    size_t fr, tot;
    struct cudaPointerAttributes pa;
    int v;
    HOST_TIME_OF(100, cudaMemGetInfo(&fr, &tot));
    HOST_TIME_OF(100, cudaPointerGetAttributes(&pa, big));
    HOST_TIME_OF(100, cudaGetDevice(&v));
    HOST_TIME_OF(100, cudaSetDevice(0));
    HOST_TIME_OF(100, cudaGetLastError());
    HOST_TIME_OF(100, cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0));
}

static void allocate_and_free(size_t bytes)
{
    cudaMallocFromPoolAsync(&m, bytes, pool, s);
    free_and_wait(m);
}

static void free_and_trim(void)
{
    free_and_wait(m);
    cudaMemPoolTrimTo(pool, 0);
}

/* What does an allocation cost for which the pool must grow, and what a trim? */
CASE(growth_and_trims)
{
    cudaMemPoolCreate(&pool, &props);
    set_threshold(pool, th);
    HOST_TIME(1, NOTHING, cudaMallocFromPoolAsync(&m, 32 * MiB, pool, s), free_and_trim());
    HOST_TIME(1, NOTHING, cudaMallocFromPoolAsync(&m, 320 * MiB, pool, s), free_and_trim());
    HOST_TIME(1, allocate_and_free(32 * MiB), cudaMemPoolTrimTo(pool, 0), NOTHING);
    HOST_TIME(1, allocate_and_free(320 * MiB), cudaMemPoolTrimTo(pool, 0), NOTHING);
}

/* ---- how long does work take on the device? ---- */

/* How long does a kernel take on the device? */
CASE(kernels)
{
    DEVICE_TIME("two event records", NOTHING);
    DEVICE_TIME("fill 4 B", launch_fill(big, 1, 1, s));
    DEVICE_TIME("fill 1 MiB", launch_fill(big, 1, MiB / 4, s));
    DEVICE_TIME("fill 64 MiB", launch_fill(big, 1, 16 * MiB, s));
    DEVICE_TIME("fill 1 GiB", launch_fill(big, 1, 256 * MiB, s));
    DEVICE_TIME("add 1 GiB", launch_add(big, 1, 256 * MiB, s));

    /* How long does a memset take? */
    DEVICE_TIME("memset 4 B", cudaMemsetAsync(big, 0, 4, s));
    DEVICE_TIME("memset 1 MiB", cudaMemsetAsync(big, 0, MiB, s));
    DEVICE_TIME("memset 64 MiB", cudaMemsetAsync(big, 0, 64 * MiB, s));
    DEVICE_TIME("memset 1 GiB", cudaMemsetAsync(big, 0, 1024 * MiB, s));
}

static void copy_on_device(size_t bytes)
{
    cudaMemcpyAsync(big, (char *)big + 512 * MiB, bytes, cudaMemcpyDeviceToDevice, s);
}

static void copy_to_device(size_t bytes)
{
    cudaMemcpyAsync(big, pinned, bytes, cudaMemcpyHostToDevice, s);
}

static void copy_to_host(size_t bytes)
{
    cudaMemcpyAsync(pinned, big, bytes, cudaMemcpyDeviceToHost, s);
}

/* How long does a copy take? */
CASE(copies)
{
    DEVICE_TIME("copy device to device 4 B", copy_on_device(4));
    DEVICE_TIME("copy device to device 1 MiB", copy_on_device(MiB));
    DEVICE_TIME("copy device to device 512 MiB", copy_on_device(512 * MiB));
    DEVICE_TIME("copy host to device pinned 4 B", copy_to_device(4));
    DEVICE_TIME("copy host to device pinned 1 MiB", copy_to_device(MiB));
    DEVICE_TIME("copy host to device pinned 256 MiB", copy_to_device(256 * MiB));
    DEVICE_TIME("copy device to host pinned 4 B", copy_to_host(4));
    DEVICE_TIME("copy device to host pinned 1 MiB", copy_to_host(MiB));
    DEVICE_TIME("copy device to host pinned 256 MiB", copy_to_host(256 * MiB));

    /* How long do a host function, and an allocation and its free, hold the stream up? */
    DEVICE_TIME("host function that does nothing", cudaLaunchHostFunc(s, nothing, 0));
    DEVICE_TIME("host function that sleeps 10 ms", cudaLaunchHostFunc(s, sleep_10ms, 0));
    DEVICE_TIME("alloc + free of 1 MiB", (cudaMallocAsync(&m, MiB, s), cudaFreeAsync(m, s)));
}

int main(void)
{
    set_up_process();
    props = device_props();
    cudaEventCreate(&e0);
    cudaEventCreate(&e1);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaDeviceGetDefaultMemPool(&def, 0);
    set_threshold(def, th);
    cudaMalloc((void **)&big, 1024 * MiB);
    cudaMallocHost((void **)&pinned, 256 * MiB);
    pageable = malloc(64 * MiB);
    memset(pageable, 1, 64 * MiB);
    memset(pinned, 1, 256 * MiB);
    return run_in_one_process();
}
