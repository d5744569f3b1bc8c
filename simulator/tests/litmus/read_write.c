/* Stream b waits for the copy in stream a that reads, before it writes.
 *
 * WRONG: b does not wait: no edge from a's read to b's write.
 * Kind: write not ordered after a read */
#include "litmus.h"

LITMUS(a, b)
{
    int *data, *result;
    cudaEvent_t copied;
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    CHECK(cudaEventRecord(copied, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, copied, 0));
#endif
    CHECK(launch_fill(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
}
