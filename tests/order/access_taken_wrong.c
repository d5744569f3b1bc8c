/* The access of device 1 to a pool is taken away while a kernel there may still be using a block of it: cudaMemPoolSetAccess waits for nothing.
 * Kind: access taken before the use ends
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t near, far;
    cudaMemPool_t pool = pool_create();
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 1}, .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaStreamCreate(&near));
    CHECK(cudaMallocFromPoolAsync((void **)&data, 16 * MiB, pool, near));
    CHECK(cudaStreamSynchronize(near));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    for (int i = 0; i < 100; i++)
        CHECK(launch_add(data, 1, 4 * MiB, far));      /* one */
    access.flags = cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));      /* other */
    cudaStreamSynchronize(far);
    cudaFreeAsync(data, near);
    cudaStreamSynchronize(near);
    cudaMemPoolDestroy(pool);
    return 0;
}
