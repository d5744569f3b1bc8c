/* Records what cudaFree of a pool's allocation leaves reserved and used: in a pool of its own and
 * in the default one, with the threshold at 0 and at its maximum, with one allocation and with
 * two. */
#include "workbook.h"

static void show(cudaMemPool_t pool, const char *when)
{
    uint64_t reserved, used;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    printf("  %s: reserved %d used %d\n", when, (int)(reserved / MiB), (int)(used / MiB));
}

static void free_one(cudaMemPool_t pool, uint64_t threshold, int two)
{
    void *first, *second;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMallocFromPoolAsync(&first, 64 * MiB, pool, stream));
    if (two)
        CHECK(cudaMallocFromPoolAsync(&second, 64 * MiB, pool, stream));
    CHECK(cudaStreamSynchronize(stream));
    show(pool, "allocated");
    CHECK(cudaFree(first));
    show(pool, "cudaFree");
    CHECK(cudaStreamSynchronize(stream));
    show(pool, "synchronized");
    CHECK(cudaDeviceSynchronize());
    show(pool, "device synchronized");
    CHECK(cudaMemPoolTrimTo(pool, 0));
    show(pool, "trimmed");
    if (two)
        CHECK(cudaFreeAsync(second, stream));
    CHECK(cudaStreamSynchronize(stream));
    show(pool, "end");
}

int main(void)
{
    for (int i = 0; i < 6; i++) {
        int own = i < 4, keeps = i & 1, two = (i & 2) != 0;
        cudaMemPool_t pool;
        if (own)
            pool = pool_create();
        else
            CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
        printf("%s pool, threshold %s, %s\n", own ? "own" : "default", keeps ? "max" : "0",
               two ? "two" : "one");
        free_one(pool, keeps ? UINT64_MAX : 0, two);
    }
    return 0;
}
