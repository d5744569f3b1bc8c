/* An allocation is freed in stream b, which waits for the last access in stream a. Any stream may
 * free.
 *
 * WRONG: b does not wait: no edge from a's write to the free.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t used;
    CHECK(cudaEventCreate(&used));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a)); /* access */
    CHECK(cudaEventRecord(used, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, used, 0));
#endif
    CHECK(cudaFreeAsync(data, b)); /* free */
    CHECK(cudaDeviceSynchronize());
}
