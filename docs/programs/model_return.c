/* When memory leaves a pool: not at a free, but at a synchronization, as far as the release
 * threshold allows, or at a trim. A segment with a live allocation on it never leaves. */
#include "kernels.h"
#include "workbook.h"

enum { PIECES = 8 };

static void show(const char *what, cudaMemPool_t pool)
{
    printf("%-40s used %3zu MiB   reserved %3zu MiB\n", what, used_mib(pool), reserved_mib(pool));
}

int main(void)
{
    cudaStream_t stream;
    cudaMemPool_t pool = pool_create();
    void *piece[PIECES], *large;
    CHECK(cudaStreamCreate(&stream));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, 192 * MiB);

    for (int i = 0; i < PIECES; i++)
        CHECK(cudaMallocFromPoolAsync(&piece[i], 16 * MiB, pool, stream));
    CHECK(cudaMallocFromPoolAsync(&large, 128 * MiB, pool, stream));
    show("8 allocations of 16 MiB, 1 of 128 MiB", pool);

    CHECK(cudaFreeAsync(large, stream));
    show("the 128 MiB are freed", pool);
    CHECK(cudaStreamSynchronize(stream));
    show("synchronized, threshold 192 MiB", pool);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    show("trimmed to 0", pool);

    for (int i = 0; i < PIECES; i += 2)
        CHECK(cudaFreeAsync(piece[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    show("every other 16 MiB freed, trimmed to 0", pool);
    CHECK(cudaMallocFromPoolAsync(&large, 17 * MiB, pool, stream));
    show("17 MiB more", pool);

    for (int i = 1; i < PIECES; i += 2)
        CHECK(cudaFreeAsync(piece[i], stream));
    CHECK(cudaFreeAsync(large, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    show("everything freed, trimmed to 0", pool);
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
