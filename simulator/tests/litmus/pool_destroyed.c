/* A pool is destroyed while it has a live allocation, which is used and freed as before. */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    cudaMemPool_t pool = pool_create();

    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
