/* A pipeline with a forgotten edge, from a pool with all its policies on, as pools are made: what
 * it reserves depends on how fast the device is. The book's page docs/11_reuse_opportunistic.rst
 * runs it under two schedules. */
#include "kernels.h"
#include "workbook.h"

enum { ROUNDS = 8 };

int main(void)
{
    size_t bytes = 64 * MiB, count = bytes / sizeof(int), first = 0;
    cudaStream_t work, store;
    cudaEvent_t worked;
    int *results;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&store, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&worked, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&results, ROUNDS * sizeof *results));
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);

    for (int round = 0; round < ROUNDS; round++) {
        int *result;
        CHECK(cudaMallocFromPoolAsync((void **)&result, bytes, pool, work));
        CHECK(launch_fill(result, round, count, work));
        CHECK(cudaEventRecord(worked, work));

        CHECK(cudaStreamWaitEvent(store, worked, 0));
        CHECK(cudaMemcpyAsync(&results[round], result, sizeof *results, cudaMemcpyDeviceToHost,
                              store));
        CHECK(cudaFreeAsync(result, store)); /* and no event leads back from here to `work` */
        if (round == 0)
            first = reserved_mib(pool);
    }
    CHECK(cudaDeviceSynchronize());
    int sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        sum += results[round];
    printf("sum %d, reserved %zu MiB after round 1, %zu MiB after round %d\n", sum, first,
           reserved_mib(pool), ROUNDS);

    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFreeHost(results));
    CHECK(cudaEventDestroy(worked));
    CHECK(cudaStreamDestroy(store));
    CHECK(cudaStreamDestroy(work));
    return 0;
}
