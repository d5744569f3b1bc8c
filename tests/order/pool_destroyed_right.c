/* A pool is destroyed while one of its blocks is alive. The block is used and freed as before. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    cudaMemPool_t pool = pool_create();

    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
