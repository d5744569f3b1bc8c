/* The host waits for the kernel of device 1 before it takes that device's access to the pool away.
 * Devices: 2
 *
 * WRONG: the host does not wait, and neither does cudaMemPoolSetAccess: no edge from the kernel to
 * it.
 * Kind: access taken before the use ends */
#include "litmus.h"

LITMUS(near)
{
    int *data;
    cudaStream_t far;
    cudaMemPool_t pool = pool_create();
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 1},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&data, 16 * MiB, pool, near));
    CHECK(cudaStreamSynchronize(near));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    for (int i = 0; i < 100; i++)
        CHECK(launch_add(data, 1, 4 * MiB, far)); /* access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(far));
#endif
    access.flags = cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1)); /* access taken */
    cudaStreamSynchronize(far);
    cudaFreeAsync(data, near);
    cudaStreamSynchronize(near);
    cudaMemPoolDestroy(pool);
}
