/* Stream b waits for the upload from a pinned buffer before it copies results into it.
 *
 * WRONG: b does not wait: no edge from a's read of the buffer to b's write.
 * Kind: write not ordered after a read */
#include "litmus.h"

LITMUS(a, b)
{
    int *up, *down, *buffer;
    cudaEvent_t uploaded;
    CHECK(cudaEventCreate(&uploaded));
    CHECK(cudaMallocHost((void **)&buffer, MiB));
    CHECK(cudaMalloc((void **)&up, MiB));
    CHECK(cudaMalloc((void **)&down, MiB));

    CHECK(cudaMemcpyAsync(up, buffer, MiB, cudaMemcpyHostToDevice, a)); /* previous access */
    CHECK(cudaEventRecord(uploaded, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, uploaded, 0));
#endif
    CHECK(cudaMemcpyAsync(buffer, down, MiB, cudaMemcpyDeviceToHost, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(up));
    CHECK(cudaFree(down));
    CHECK(cudaFreeHost(buffer));
}
