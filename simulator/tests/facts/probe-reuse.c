/* Records which freed memory a pool hands out again and what it keeps: the same stream, streams
 * that the legacy stream orders, holes, thresholds; and small questions about pools. */
#include "probe.h"

static cudaStream_t b2; /* a second blocking stream */
static const uint64_t all = UINT64_MAX;

/* Memory is freed behind work that is pending: what does the next allocation in the same stream
 * get, of a smaller, the same and a larger size? */
static void same_stream(uint64_t threshold)
{
    static const size_t sizes[] = {1, 16, 63, 64, 65, 96, 128};
    printf("64 MiB freed in s behind pending work, then allocated in s; threshold %llu\n",
           (unsigned long long)threshold);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cudaMemPool_t pool = new_pool(threshold);
        void *p, *q;
        cudaMallocFromPoolAsync(&p, 64 * MiB, pool, s);
        hold(s);
        cudaFreeAsync(p, s);
        cudaMallocFromPoolAsync(&q, sizes[i] * MiB, pool, s);
        printf("  %3zu MiB: the same address %d, reserved %llu\n", sizes[i], p == q,
               mib_reserved(pool));
        cudaFreeAsync(q, s);
        end_pool(pool);
    }
}

CASE(in_one_stream)
{
    cudaMemPool_t pool;
    void *first = NULL, *p;
    int same = 0;
    same_stream(0);
    same_stream(all);

    /* Does a loop that allocates and frees in one stream keep to one piece of memory, also with a
     * threshold of 0 and no synchronization? */
    pool = new_pool(0);
    for (int i = 0; i < 1000; i++) {
        cudaMallocFromPoolAsync(&p, 64 * MiB, pool, s);
        if (!i)
            first = p;
        same += p == first;
        cudaMemsetAsync(p, 0, 64, s);
        cudaFreeAsync(p, s);
    }
    printf("a loop of 1000 in one stream, threshold 0: the same address %d times, reserved high "
           "%llu\n",
           same, pool_figure(pool, cudaMemPoolAttrReservedMemHigh) / MiB);
    end_pool(pool);
}

struct named_stream {
    const char *name;
    cudaStream_t stream;
};

/* Memory is freed in one stream behind pending work and allocated in another, with opportunistic
 * reuse and internal dependencies off. Is it the same? With work in the legacy stream between the
 * two, or with none. */
static void freed_and_taken(struct named_stream giver, struct named_stream taker, int follow,
                            int between)
{
    cudaMemPool_t pool = new_pool(all);
    void *p, *q;
    set_policies(pool, follow, 0, 0);
    cudaMallocFromPoolAsync(&p, 64 * MiB, pool, giver.stream);
    hold(giver.stream);
    cudaFreeAsync(p, giver.stream);
    if (between)
        launch_fill(m, 1, 1, 0);
    cudaMallocFromPoolAsync(&q, 64 * MiB, pool, taker.stream);
    printf("freed in %-13s allocated in %-13s follow %d%s: reused %d, reserved %llu\n", giver.name,
           taker.name, follow, between ? ", a kernel in the legacy stream between" : "", p == q,
           mib_reserved(pool));
    cudaFreeAsync(q, taker.stream);
    end_pool(pool);
}

CASE(across_streams)
{
    struct named_stream streams[] = {{"non-blocking", s},
                                     {"blocking", b},
                                     {"legacy", cudaStreamLegacy},
                                     {"per-thread", cudaStreamPerThread},
                                     {"0", 0},
                                     {"blocking 2", b2}};
    int count = sizeof streams / sizeof *streams;
    for (int follow = 0; follow < 2; follow++)
        for (int giver = 0; giver < count; giver++)
            for (int taker = 0; taker < count; taker++)
                if (giver != taker)
                    freed_and_taken(streams[giver], streams[taker], follow, 0);
    for (int follow = 0; follow < 2; follow++) {
        freed_and_taken(streams[1], streams[5], follow, 1);
        freed_and_taken(streams[1], streams[3], follow, 1);
        freed_and_taken(streams[0], streams[1], follow, 1);
        freed_and_taken(streams[1], streams[0], follow, 1);
    }
}

/* Is the memory the same with each of the other two policies alone, when the work is finished? */
CASE(legacy_and_opportunistic)
{
    for (int finished = 0; finished < 2; finished++)
        for (int opportunistic = 0; opportunistic < 2; opportunistic++) {
            cudaMemPool_t pool = new_pool(all);
            void *p, *q;
            set_policies(pool, 0, opportunistic, 0);
            cudaMallocFromPoolAsync(&p, 64 * MiB, pool, b);
            hold(b);
            cudaFreeAsync(p, b);
            if (finished) {
                open_gate();
                soon_over(b);
            }
            cudaMallocFromPoolAsync(&q, 64 * MiB, pool, 0);
            printf("freed in blocking, %s, allocated in legacy; only opportunistic %d: reused %d\n",
                   finished ? "finished" : "pending", opportunistic, p == q);
            cudaFreeAsync(q, 0);
            end_pool(pool);
        }
}

/* Frees every one, or every other one, from the first. */
static void free_some(void *const p[], int first, int step, int count)
{
    for (int i = first; i < count; i += step)
        cudaFreeAsync(p[i], s);
}

/* Every other piece of a pool is freed: what goes back, and what does a larger allocation take? */
static void holes(size_t piece, size_t more)
{
    cudaMemPool_t pool = new_pool(all);
    void *p[64], *q;
    for (int i = 0; i < 64; i++)
        cudaMallocFromPoolAsync(&p[i], piece * MiB, pool, s);
    cudaStreamSynchronize(s);
    printf("64 x %zu MiB: reserved %llu\n", piece, mib_reserved(pool));
    free_some(p, 0, 2, 64);
    cudaStreamSynchronize(s);
    NOTE("every other one freed and synchronized: reserved %llu used %llu", mib_reserved(pool),
         bytes_used(pool) / MiB);
    cudaMallocFromPoolAsync(&q, piece * MiB, pool, s);
    NOTE("%zu MiB more: reserved %llu", piece, mib_reserved(pool));
    free_and_wait(q);
    cudaMallocFromPoolAsync(&q, more * MiB, pool, s);
    NOTE("instead %zu MiB: reserved %llu", more, mib_reserved(pool));
    free_and_wait(q);
    cudaMemPoolTrimTo(pool, 0);
    NOTE("that freed, synchronized, trimmed to 0: reserved %llu", mib_reserved(pool));
    cudaMallocFromPoolAsync(&q, more * MiB, pool, s);
    NOTE("%zu MiB again: reserved %llu", more, mib_reserved(pool));
    cudaFreeAsync(q, s);
    free_some(p, 1, 2, 64);
    cudaStreamSynchronize(s);
    cudaMemPoolTrimTo(pool, 0);
    NOTE("all freed, synchronized, trimmed to 0: reserved %llu", mib_reserved(pool));
    end_pool(pool);
}

CASE(with_holes)
{
    holes(16, 17);
    holes(32, 33);
    holes(1, 2);
}

/* Does live memory count toward the threshold? */
static void threshold_and_live(size_t threshold, int live, int freed)
{
    cudaMemPool_t pool = new_pool(threshold * MiB);
    void *p[8];
    for (int i = 0; i < live + freed; i++)
        cudaMallocFromPoolAsync(&p[i], 32 * MiB, pool, s);
    free_some(p, 0, 1, freed);
    cudaStreamSynchronize(s);
    printf("threshold %zu, %d x 32 MiB live, %d x 32 freed and synchronized: reserved %llu\n",
           threshold, live, freed, mib_reserved(pool));
    free_some(p, freed, 1, live + freed);
    end_pool(pool);
}

CASE(thresholds)
{
    threshold_and_live(64, 0, 3);
    threshold_and_live(64, 1, 2);
    threshold_and_live(64, 2, 2);
    threshold_and_live(64, 3, 2);
    threshold_and_live(96, 1, 3);
    threshold_and_live(0, 1, 2);
}

/* One large allocation that is freed makes room in advance: do small ones then need more? */
CASE(warmed)
{
    cudaMemPool_t pool = new_pool(all);
    void *p[256];
    cudaMallocFromPoolAsync(&p[0], 256 * MiB, pool, s);
    free_and_wait(p[0]);
    printf("256 MiB allocated, freed, synchronized: reserved %llu\n", mib_reserved(pool));
    for (int i = 0; i < 256; i++)
        cudaMallocFromPoolAsync(&p[i], MiB, pool, s);
    NOTE("256 x 1 MiB: reserved %llu", mib_reserved(pool));
    free_some(p, 0, 1, 256);
    cudaStreamSynchronize(s);
    cudaMallocFromPoolAsync(&p[0], 256 * MiB, pool, s);
    NOTE("freed, synchronized, 256 MiB: reserved %llu", mib_reserved(pool));
    cudaFreeAsync(p[0], s);
    end_pool(pool);
}

static void print_attributes_9_to_15(cudaMemPool_t pool, const char *which)
{
    for (int i = 9; i <= 15; i++) {
        uint64_t value = 77;
        cudaError_t get = cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)i, &value);
        printf("%s attribute %d: get %s %llu", which, i, cudaGetErrorName(get),
               (unsigned long long)value);
        value = 0;
        printf(", set %s\n",
               cudaGetErrorName(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)i, &value)));
    }
    cudaGetLastError();
}

/* Are there attributes beyond the eight of CUDA 13.0? */
CASE(attributes)
{
    cudaMemPool_t pool = new_pool(0), default_pool = NULL;
    cudaDeviceGetDefaultMemPool(&default_pool, 0);
    print_attributes_9_to_15(pool, "new pool");
    print_attributes_9_to_15(default_pool, "default pool");
    end_pool(pool);

    /* What do addresses have in common? 1000 sizes from 1 byte to 4 MiB, of the default pool. */
    void *p[1000];
    uintptr_t bits = 0, by_size[4] = {0, 0, 0, 0};
    uint32_t random = 1;
    for (int i = 0; i < 1000; i++) {
        random = random * 1664525 + 1013904223;
        size_t bytes = 1 + random % (1u << (2 + random / 65536 % 21));
        cudaMallocAsync(&p[i], bytes, s);
        bits |= (uintptr_t)p[i];
        by_size[bytes >= MiB ? 3 : bytes >= 65536 ? 2 : bytes >= 512] |= (uintptr_t)p[i];
    }
    printf("cudaMallocAsync, 1000 sizes: each address is a multiple of %llu\n",
           (unsigned long long)(bits & -bits));
    static const char *const ranges[] = {"below 512 B", "512 B to 64 KiB", "64 KiB to 1 MiB",
                                         "1 MiB and more"};
    for (int i = 0; i < 4; i++)
        NOTE("of %s: of %llu", ranges[i], (unsigned long long)(by_size[i] & -by_size[i]));
    free_some(p, 0, 1, 1000);
    cudaStreamSynchronize(s);

    /* Which usages can a pool be made for? */
    for (int usage = 0; usage < 4; usage++) {
        struct cudaMemPoolProps props = device_props();
        cudaMemPool_t pool = NULL;
        props.usage = (unsigned short)usage;
        cudaError_t error = cudaMemPoolCreate(&pool, &props);
        printf("a pool with usage %d: %s\n", usage, cudaGetErrorName(error));
        if (!error)
            cudaMemPoolDestroy(pool);
        cudaGetLastError();
    }
}

int main(void)
{
    set_up_process();
    cudaStreamCreate(&b);
    cudaStreamCreate(&b2);
    cudaMalloc(&m, MiB);
    return run_in_one_process();
}
