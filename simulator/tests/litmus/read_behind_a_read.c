/* Stream a writes an allocation and copies it to the host. Stream b copies it, too, after an event
 * after the write.
 *
 * WRONG: b does not wait: no edge from a's write to b's read.
 * Kind: read not ordered after a write */
#include "litmus.h"

LITMUS(a, b)
{
    int *data, *one, *other;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocHost((void **)&one, MiB));
    CHECK(cudaMallocHost((void **)&other, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
    CHECK(cudaEventRecord(written, a));
    CHECK(cudaMemcpyAsync(one, data, MiB, cudaMemcpyDeviceToHost, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(cudaMemcpyAsync(other, data, MiB, cudaMemcpyDeviceToHost, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(one));
    CHECK(cudaFreeHost(other));
}
