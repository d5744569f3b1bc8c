/* An allocation gets the address of a freed one. Stream b waits for it, and uses its pointer.
 *
 * WRONG: b does not wait, and uses the stale pointer: no edge from the second allocation to the
 * write.
 * Kind: use before allocation */
#include "litmus.h"

LITMUS(a, b)
{
    int *first, *second;
    cudaEvent_t allocated;
    CHECK(cudaEventCreate(&allocated));

    CHECK(cudaMallocAsync((void **)&first, MiB, a));
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaMallocAsync((void **)&second, MiB, a)); /* allocation */
#ifdef WRONG
    CHECK(launch_fill(first, 1, count, b)); /* access */
#else
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(launch_fill(second, 1, count, b));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(second, a));
    CHECK(cudaStreamSynchronize(a));
}
