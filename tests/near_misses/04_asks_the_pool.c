/* Asks the pool for what is to be predicted. Caught by: "predict_reserved calculates: it makes no CUDA call" */
#include "workbook.h"

enum { BLOCKS = 4 };

static size_t predict_reserved(size_t used)
{
    (void)used;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    return reserved_mib(pool);
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

    printf("current pool               %s\n", current == pool ? "the default pool" : "another pool");
    printf("release threshold          %zu\n", (size_t)pool_get(pool, cudaMemPoolAttrReleaseThreshold));
    printf("reuse: event dependencies  %d\n", pool_get_flag(pool, cudaMemPoolReuseFollowEventDependencies));
    printf("reuse: opportunistic       %d\n", pool_get_flag(pool, cudaMemPoolReuseAllowOpportunistic));
    printf("reuse: internal            %d\n", pool_get_flag(pool, cudaMemPoolReuseAllowInternalDependencies));
    printf("at the start               used %4zu MiB   reserved %4zu MiB\n", used_mib(pool), reserved_mib(pool));

    for (int i = 0; i < BLOCKS; i++) {
        CHECK(cudaMallocAsync(&block[i], mib * MiB, stream));
        size_t predicted = predict_reserved(used_mib(pool)), measured = reserved_mib(pool);
        right += predicted == measured;
        printf("block %d, of %4zu MiB       used %4zu MiB   predicted %4zu MiB, measured %4zu MiB\n", i + 1, mib,
               used_mib(pool), predicted, measured);
    }

    for (int i = 0; i < BLOCKS; i++)
        CHECK(cudaFreeAsync(block[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("freed and synchronised     used %4zu MiB   reserved %4zu MiB\n", used_mib(pool), reserved_mib(pool));
    printf("right predictions          %d of %d\n", right, BLOCKS);

    CHECK(cudaStreamDestroy(stream));
    return right == BLOCKS ? 0 : 1;
}
