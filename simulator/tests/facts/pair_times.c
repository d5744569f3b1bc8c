/* Records what an allocation and its free cost the host, by four ways, and how fast copies of 1 GiB
 * are: the section "timing" of facts/one-gpu.txt. A line is the median, the least and the most of
 * five rounds. */
#include "probe.h"

enum { ROUNDS = 5 };

static cudaMemPool_t pool;

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
    double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

/* Ends the probe where the device has no memory: a time of failed calls is no time. */
static void expect_success(cudaError_t error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(error));
    exit(1);
}

static void plain_pair(size_t bytes)
{
    void *p;
    expect_success(cudaMalloc(&p, bytes), "cudaMalloc");
    expect_success(cudaFree(p), "cudaFree");
}

static void ordered_pair(size_t bytes)
{
    void *p;
    expect_success(cudaMallocFromPoolAsync(&p, bytes, pool, s), "cudaMallocFromPoolAsync");
    expect_success(cudaFreeAsync(p, s), "cudaFreeAsync");
}

static void synchronized_pair(size_t bytes)
{
    ordered_pair(bytes);
    expect_success(cudaStreamSynchronize(s), "cudaStreamSynchronize");
}

/* Each round begins with an idle device and one pair that is not timed. */
static void time_pairs(size_t bytes, const char *what, uint64_t threshold, void (*pair)(size_t))
{
    double times[ROUNDS];
    int pairs = bytes < 64 * MiB ? 1000 : 20;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    for (int round = 0; round < ROUNDS; round++) {
        pair(bytes);
        cudaDeviceSynchronize();
        double begin = now_us();
        for (int i = 0; i < pairs; i++)
            pair(bytes);
        times[round] = (now_us() - begin) / pairs;
        cudaDeviceSynchronize();
    }
    cudaMemPoolTrimTo(pool, 0);
    qsort(times, ROUNDS, sizeof *times, by_value);
    printf("  %10zu bytes  %-34s %9.3f us (min %.3f max %.3f)\n", bytes, what, times[ROUNDS / 2],
           times[0], times[ROUNDS - 1]);
}

static double gigabytes_a_second(void *to, const void *from, enum cudaMemcpyKind kind)
{
    const size_t bytes = 1024 * MiB;
    double begin = now_us();
    expect_success(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy");
    cudaDeviceSynchronize();
    return (double)bytes / 1e3 / (now_us() - begin);
}

static void copies(void)
{
    void *device, *pinned, *pageable = malloc(1024 * MiB);
    expect_success(cudaMalloc(&device, 1024 * MiB), "cudaMalloc");
    expect_success(cudaMallocHost(&pinned, 1024 * MiB), "cudaMallocHost");
    if (!pageable)
        expect_success(cudaErrorMemoryAllocation, "malloc");
    memset(pageable, 1, 1024 * MiB);
    memset(pinned, 1, 1024 * MiB);
    for (int i = 0; i < 3; i++)
        printf("  1 GiB copies GB/s: H2D pinned %.1f pageable %.1f; D2H pinned %.1f pageable "
               "%.1f\n",
               gigabytes_a_second(device, pinned, cudaMemcpyHostToDevice),
               gigabytes_a_second(device, pageable, cudaMemcpyHostToDevice),
               gigabytes_a_second(pinned, device, cudaMemcpyDeviceToHost),
               gigabytes_a_second(pageable, device, cudaMemcpyDeviceToHost));
}

int main(void)
{
    static const size_t sizes[] = {1024, MiB, 64 * MiB, 1024 * MiB};
    struct cudaMemPoolProps props = device_props();
    set_up_process();
    expect_success(cudaMemPoolCreate(&pool, &props), "cudaMemPoolCreate");
    puts("## timing (host microseconds a pair, median of 5 rounds)");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        time_pairs(sizes[i], "cudaMalloc/cudaFree", 0, plain_pair);
        time_pairs(sizes[i], "async, threshold max, no sync", UINT64_MAX, ordered_pair);
        time_pairs(sizes[i], "async, threshold 0, sync each", 0, synchronized_pair);
        time_pairs(sizes[i], "async, threshold max, sync each", UINT64_MAX, synchronized_pair);
    }
    copies();
    return 0;
}
