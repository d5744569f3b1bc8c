/* 02 Default pool
 *
 * Question: From which pool does cudaMallocAsync allocate when the program names none? How large is
 *   that pool at the start, and by how much does it grow?
 * Task (predict): measure a segment of the pool, then write predict_reserved as a rule. The check
 *   calls it with other segments and sizes.
 * Calls: cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream)
 *        cudaStreamSynchronize(cudaStream_t stream)
 *        and reserved_mib(cudaMemPool_t pool) of workbook.h
 * Run:   make 02          Check: make check-02          Page: docs/02_default_pool
 */
#include "workbook.h"

enum { ALLOCATIONS = 4 };

/* YOUR WORK, 1 of 2. Returns the size of a segment in MiB: what the empty `pool` reserves for an
 * allocation of 1 byte. Leaves the pool empty. */
static size_t measure_segment(cudaMemPool_t pool, cudaStream_t stream)
{
    (void)pool;
    (void)stream;
    return 64; /* "The default pool has a fixed size." */
}

/* YOUR WORK, 2 of 2. An empty pool grew for allocations of `used` MiB in all: how many MiB does it
 * reserve? */
static size_t predict_reserved(size_t segment, size_t used)
{
    (void)used;
    return segment;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 20);
    int correct = 0;
    void *data[ALLOCATIONS];
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

    size_t segment = measure_segment(pool, stream);
    printf("segment                    %zu MiB\n", segment);
    printf("before the allocations     used %4zu MiB   reserved %4zu MiB\n", used_mib(pool),
           reserved_mib(pool));

    for (int i = 0; i < ALLOCATIONS; i++) {
        CHECK(cudaMallocAsync(&data[i], mib * MiB, stream));
        size_t predicted = predict_reserved(segment, used_mib(pool));
        size_t measured = reserved_mib(pool);
        correct += predicted == measured;
        printf(
            "allocation %d, of %4zu MiB  used %4zu MiB   predicted %4zu MiB, measured %4zu MiB\n",
            i + 1, mib, used_mib(pool), predicted, measured);
    }

    for (int i = 0; i < ALLOCATIONS; i++)
        CHECK(cudaFreeAsync(data[i], stream));
    printf("freed                      used %4zu MiB   reserved %4zu MiB\n", used_mib(pool),
           reserved_mib(pool));
    CHECK(cudaStreamSynchronize(stream));
    printf("synchronized               used %4zu MiB   reserved %4zu MiB\n", used_mib(pool),
           reserved_mib(pool));
    printf("correct predictions        %d of %d\n", correct, ALLOCATIONS);

    CHECK(cudaStreamDestroy(stream));
    return correct == ALLOCATIONS ? 0 : 1;
}
