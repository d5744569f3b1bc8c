/* 04 The default pool
 *
 * Shows  every device has a default pool, and cudaMallocAsync takes from the device's current pool,
 *        which is the default one until a program sets another. The pool has no fixed size: it
 *        starts empty, grows when its free memory does not suffice, and gives back what nobody
 *        uses.
 * Yours  predict: in what steps does it grow? Write predict_reserved as a rule; the check tries it
 *        on other sizes.
 * Run    make 04          check   make check-04          page   docs/04_default_pool
 */
#include "workbook.h"

enum { BLOCKS = 4 };

/* YOUR WORK. Live blocks of `used` MiB in all were taken from an empty pool: how many MiB does the
 * pool hold? */
static size_t predict_reserved(size_t used)
{
    (void)used;
    return 64; /* the default pool has a fixed size, so say many people */
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 20);
    int right = 0;
    void *block[BLOCKS];
    cudaStream_t stream;
    cudaMemPool_t pool, current;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaDeviceGetMemPool(&current, 0));

    printf("current pool               %s\n",
           current == pool ? "the default pool" : "another pool");
    printf("release threshold          %zu\n",
           (size_t)pool_get(pool, cudaMemPoolAttrReleaseThreshold));
    printf("reuse: event dependencies  %d\n",
           pool_get_flag(pool, cudaMemPoolReuseFollowEventDependencies));
    printf("reuse: opportunistic       %d\n",
           pool_get_flag(pool, cudaMemPoolReuseAllowOpportunistic));
    printf("reuse: internal            %d\n",
           pool_get_flag(pool, cudaMemPoolReuseAllowInternalDependencies));
    printf("at the start               used %4zu MiB   reserved %4zu MiB\n", used_mib(pool),
           reserved_mib(pool));

    for (int i = 0; i < BLOCKS; i++) {
        CHECK(cudaMallocAsync(&block[i], mib * MiB, stream));
        size_t predicted = predict_reserved(used_mib(pool)), measured = reserved_mib(pool);
        right += predicted == measured;
        printf(
            "block %d, of %4zu MiB       used %4zu MiB   predicted %4zu MiB, measured %4zu MiB\n",
            i + 1, mib, used_mib(pool), predicted, measured);
    }

    for (int i = 0; i < BLOCKS; i++)
        CHECK(cudaFreeAsync(block[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("freed and synchronised     used %4zu MiB   reserved %4zu MiB\n", used_mib(pool),
           reserved_mib(pool));
    printf("right predictions          %d of %d\n", right, BLOCKS);

    CHECK(cudaStreamDestroy(stream));
    return right == BLOCKS ? 0 : 1;
}
