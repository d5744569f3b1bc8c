/* With all three reuse policies off, memory that was freed before a synchronization goes to any
 * stream. */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);

    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, b));
    CHECK(launch_fill(data, 2, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
}
