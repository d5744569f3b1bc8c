/* Records what an allocation and its free cost the host in the four corners of a table: the pool
 * keeps its memory or not, the host synchronizes or not; and what the pool has after a loop. The
 * corner "keeps nothing, no synchronization" stands in no other recording. */
#include "probe.h"
#include "workbook.h"

enum { ROUNDS = 9, MOST = 2000 };

static cudaMemPool_t pool;

/* A kernel uses the memory or none does; the host synchronizes or not. */
static void loop(size_t bytes, int pairs, int uses, int synchronizes)
{
    for (int i = 0; i < pairs; i++) {
        void *p;
        CHECK(cudaMallocFromPoolAsync(&p, bytes, pool, s));
        if (uses)
            CHECK(launch_fill(p, i, 16, s));
        CHECK(cudaFreeAsync(p, s));
        if (synchronizes)
            CHECK(cudaStreamSynchronize(s));
    }
}

/* Each round begins with an idle device and a pool that has the memory, or has given it back. */
static void corner(size_t bytes, int keeps, int uses, int synchronizes)
{
    double times[ROUNDS];
    int pairs = bytes < 64 * MiB ? MOST : 50;
    set_threshold(pool, keeps ? UINT64_MAX : 0);
    for (int round = 0; round < ROUNDS; round++) {
        loop(bytes, 1, uses, synchronizes);
        CHECK(cudaDeviceSynchronize());
        double begin = now_us();
        loop(bytes, pairs, uses, synchronizes);
        times[round] = (now_us() - begin) / pairs;
        if (round == ROUNDS - 1)
            break;
        CHECK(cudaDeviceSynchronize());
    }
    unsigned long long after_loop = mib_reserved(pool);
    CHECK(cudaDeviceSynchronize());
    qsort(times, ROUNDS, sizeof *times, by_value);
    printf("%10zu bytes, %s, %s, %s: %9.3f us (min %.3f max %.3f); reserved %llu MiB, "
           "synchronized %llu\n",
           bytes, keeps ? "keeps all    " : "keeps nothing",
           synchronizes ? "synchronizes" : "does not    ", uses ? "a kernel " : "no kernel",
           times[ROUNDS / 2], times[0], times[ROUNDS - 1], after_loop, mib_reserved(pool));
    CHECK(cudaMemPoolTrimTo(pool, 0));
}

int main(void)
{
    static const size_t sizes[] = {1024, MiB, 64 * MiB, 1024 * MiB};
    struct cudaMemPoolProps props = device_props();
    set_up_process();
    CHECK(cudaMemPoolCreate(&pool, &props));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int uses = 0; uses < 2; uses++)
            for (int keeps = 1; keeps >= 0; keeps--)
                for (int synchronizes = 0; synchronizes < 2; synchronizes++)
                    corner(sizes[i], keeps, uses, synchronizes);
    puts("end");
    return 0;
}
