/* The host waits for a copy from a pool's allocation before it calls cudaFree.
 *
 * WRONG: the host does not wait: no edge from the copy's read to the free.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a)
{
    int *data, *host;
    CHECK(cudaMallocHost((void **)&host, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a)); /* access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaFree(data)); /* free */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(host));
}
