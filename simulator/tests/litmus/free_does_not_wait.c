/* Stream a waits for b's write before it frees.
 *
 * WRONG: a does not wait, and cudaFreeAsync waits for its own stream only: no edge from b's write
 * to the free.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t allocated, used;
    CHECK(cudaEventCreate(&allocated));
    CHECK(cudaEventCreate(&used));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(launch_fill(data, 1, count, b)); /* access */
    CHECK(cudaEventRecord(used, b));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(a, used, 0));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
    CHECK(cudaDeviceSynchronize());
}
