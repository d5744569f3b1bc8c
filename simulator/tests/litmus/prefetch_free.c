/* Stream a waits for b's prefetch before it frees.
 *
 * WRONG: a does not wait: no edge from the prefetch to the free.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t event;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    props.allocType = cudaMemAllocationTypeManaged;
    props.location = here;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b)); /* access */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
#ifndef WRONG
    CHECK(cudaEventRecord(event, b));
    CHECK(cudaStreamWaitEvent(a, event, 0));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
}
