/* Device 1 has the access that its kernel needs before the kernel is queued.
 * Devices: 2
 *
 * WRONG: the access is given after the kernel was queued, and nothing holds the kernel back until
 * then.
 * Kind: use before access is given */
#include "litmus.h"

LITMUS(near)
{
    int *data;
    cudaStream_t far;
    cudaMemPool_t pool = pool_create();
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 1},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, near));
    CHECK(cudaStreamSynchronize(near));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
#ifndef WRONG
    (void)cudaMemPoolSetAccess(pool, &access, 1);
#endif
    CHECK(launch_fill(data, 1, MiB / sizeof(int), far)); /* access */
#ifdef WRONG
    (void)cudaMemPoolSetAccess(pool, &access, 1); /* access given */
#endif
    (void)cudaStreamSynchronize(far);
    (void)cudaFreeAsync(data, near);
    (void)cudaStreamSynchronize(near);
    (void)cudaMemPoolDestroy(pool);
}
