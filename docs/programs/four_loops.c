/* Two rounds of each of lesson 05's four loops, from a pool with a threshold of 0, and of the last
 * loop with the maximum. What does the pool reserve from one round to the next? */
#include "workbook.h"

#define BYTES (24 * MiB)
static cudaMemPool_t pool;

static void print_reserved(const char *loop)
{
    printf("reserved %2zu MiB after: %s\n", reserved_mib(pool), loop);
}

int main(void)
{
    cudaStream_t stream;
    void *data, *number;
    int answer;
    CHECK(cudaMalloc(&number, sizeof answer));
    CHECK(cudaMemset(number, 0, sizeof answer));
    CHECK(cudaStreamCreate(&stream));
    pool = pool_create();

    for (int round = 0; round < 2; round++) {
        CHECK(cudaMallocFromPoolAsync(&data, BYTES, pool, stream));
        CHECK(cudaFreeAsync(data, stream));
    }
    print_reserved("allocate, free");
    for (int round = 0; round < 2; round++) {
        CHECK(cudaMallocFromPoolAsync(&data, BYTES, pool, stream));
        CHECK(cudaFreeAsync(data, stream));
        CHECK(cudaMemcpy(&answer, number, sizeof answer, cudaMemcpyDeviceToHost));
    }
    print_reserved("allocate, free, blocking cudaMemcpy");
    for (int round = 0; round < 2; round++) {
        CHECK(cudaMallocFromPoolAsync(&data, BYTES, pool, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaFreeAsync(data, stream));
    }
    print_reserved("allocate, synchronize, free");
    for (int round = 0; round < 2; round++) {
        CHECK(cudaMallocFromPoolAsync(&data, BYTES, pool, stream));
        CHECK(cudaFreeAsync(data, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    print_reserved("allocate, free, synchronize");

    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    for (int round = 0; round < 2; round++) {
        CHECK(cudaMallocFromPoolAsync(&data, BYTES, pool, stream));
        CHECK(cudaFreeAsync(data, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    print_reserved("allocate, free, synchronize; the maximum");

    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(number));
    return 0;
}
