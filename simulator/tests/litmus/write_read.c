/* A copy in stream b reads an allocation after an event after a's write.
 *
 * WRONG: b does not wait: no edge from a's write to b's read.
 * Kind: read not ordered after a write */
#include "litmus.h"

LITMUS(a, b)
{
    int *data, *result;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(written, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
}
