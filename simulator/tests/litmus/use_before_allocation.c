/* Stream b writes an allocation of stream a after an event that a records after the allocation.
 *
 * WRONG: b does not wait: no edge from the allocation to b's write.
 * Kind: use before allocation */
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
    CHECK(launch_fill(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
