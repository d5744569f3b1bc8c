/* A hold reads its gate until it is open. The host waits for the hold before stream b frees the
 * gate, which is a host pool's allocation.
 *
 * WRONG: nobody waits for the hold: no edge from its reads to the free.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeHost, 0}};
    struct cudaMemAccessDesc all = {{cudaMemLocationTypeDevice, 0},
                                    cudaMemAccessFlagsProtReadWrite};
    int *gate;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAccess(pool, &all, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&gate, MiB, pool, a));
    CHECK(cudaStreamSynchronize(a));
    *gate = 0;
    CHECK(launch_hold(gate, a)); /* access */
#ifndef WRONG
    *gate = 1;
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaFreeAsync(gate, b)); /* free */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    cudaStreamQuery(a);
}
