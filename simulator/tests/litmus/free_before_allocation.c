/* Stream b frees an allocation after an event that stream a records after the allocation.
 *
 * WRONG: b does not wait for the event: no edge from the allocation to the free.
 * Kind: free before allocation */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t allocated;
    CHECK(cudaEventCreate(&allocated));

    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    CHECK(cudaEventRecord(allocated, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
#endif
    CHECK(cudaFreeAsync(data, b)); /* free */
    CHECK(cudaDeviceSynchronize());
}
