/* Two copies read one allocation in stream a. The host waits for both before stream b writes.
 *
 * WRONG: the host waits between the two copies: no edge from the second copy's read to b's write.
 * Kind: write not ordered after a read */
#include "litmus.h"

LITMUS(a, b)
{
    int *data, *host;
    CHECK(cudaMallocHost((void **)&host, 2 * MiB));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a));
#ifdef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    /* previous access */
    CHECK(cudaMemcpyAsync((char *)host + MiB, data, MiB, cudaMemcpyDeviceToHost, a));
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaMemsetAsync(data, 0, 4, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(host));
}
