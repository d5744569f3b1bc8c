/* Device 1 frees an allocation after its own last access; the host waits for both before it takes
 * the access away.
 * Devices: 2
 *
 * WRONG: the host does not wait: no edge from the memset, whose memory is freed but which may still
 * run.
 * Kind: access taken before the use ends */
#include "litmus.h"

LITMUS(near)
{
    int *data;
    cudaStream_t far;
    cudaEvent_t over;
    cudaMemPool_t pool = pool_create();
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 1},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&data, 64 * MiB, pool, near));
    CHECK(cudaStreamSynchronize(near));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    CHECK(cudaEventCreate(&over));
    CHECK(cudaMemsetAsync(data, 1, 64 * MiB, far)); /* access */
    CHECK(cudaFreeAsync(data, far));
    CHECK(cudaEventRecord(over, far));
#ifndef WRONG
    CHECK(cudaEventSynchronize(over));
#endif
    access.flags = cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1)); /* access taken */
    cudaStreamSynchronize(far);
    cudaStreamSynchronize(near);
    cudaMemPoolDestroy(pool);
}
