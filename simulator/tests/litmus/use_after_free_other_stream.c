/* Stream b writes an allocation, and stream a frees it after an event that b records after the
 * write.
 *
 * WRONG: the event is recorded before the write, which comes after the free.
 * Kind: use after free */
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
#ifndef WRONG
    CHECK(launch_fill(data, 1, count, b));
#endif
    CHECK(cudaEventRecord(used, b));
    CHECK(cudaStreamWaitEvent(a, used, 0));
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(launch_fill(data, 1, count, b)); /* access */
#endif
    CHECK(cudaDeviceSynchronize());
}
