/* Two streams read an allocation, and the free waits for both.
 *
 * WRONG: the free waits for one of them: no edge from b's read to the free.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b, c)
{
    int *data, *host;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocHost((void **)&host, 2 * MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaStreamWaitEvent(c, event, 0));
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, b)); /* access */
    CHECK(cudaMemcpyAsync((char *)host + MiB, data, MiB, cudaMemcpyDeviceToHost, c));
    CHECK(cudaEventRecord(event, c));
    CHECK(cudaStreamWaitEvent(a, event, 0));
#ifndef WRONG
    CHECK(cudaEventRecord(event, b));
    CHECK(cudaStreamWaitEvent(a, event, 0));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(host));
}
