/* cudaMemcpy to the host returns when the copy is over, so stream b may write what was read.
 *
 * WRONG: cudaMemcpyAsync to pinned memory does not wait: no edge from its read to b's write.
 * Kind: write not ordered after a read */
#include "litmus.h"

NONBLOCKING_LITMUS(b)
{
    int *data, *result;
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

#ifdef WRONG
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, 0)); /* previous access */
#else
    CHECK(cudaMemcpy(result, data, MiB, cudaMemcpyDeviceToHost));
#endif
    CHECK(launch_fill(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
}
