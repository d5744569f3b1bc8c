/* Managed memory is prefetched in the stream that allocated it.
 *
 * WRONG: it is prefetched in another stream: no edge from the allocation to the prefetch.
 * Kind: use before allocation */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypeManaged;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a)); /* allocation */
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
#ifdef WRONG
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b)); /* access */
#else
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, a));
#endif
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(pool));
}
