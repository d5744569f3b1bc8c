/* A copy from the host to the host is over when the call returns, even that of cudaMemcpyAsync.
 *
 * WRONG: the copy is from a device, and not over when the call returns: no edge from it to b's
 * write.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *from, *to, *data;
    CHECK(cudaMallocHost((void **)&from, MiB));
    CHECK(cudaMallocHost((void **)&to, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

#ifdef WRONG
    CHECK(cudaMemcpyAsync(to, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
#else
    CHECK(cudaMemcpyAsync(to, from, MiB, cudaMemcpyHostToHost, a));
#endif
    CHECK(launch_add(to, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(from));
    CHECK(cudaFreeHost(to));
}
