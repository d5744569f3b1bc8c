/* A copy between two devices comes before all that either is given later (documented for
 * cudaMemcpyPeer: it is serialized with all pending and future work). So the host, which waits for
 * a stream that has had no work of its own since, has waited for the copy (assumed), also where the
 * copy was over before.
 * Devices: 2
 *
 * WRONG: the host does not wait: cudaFree of a pool's allocation waits for nothing.
 * Kind: free before the use ends */
#include "litmus.h"

int main(void)
{
    char *from, *to;
    CHECK(cudaMalloc((void **)&from, 4096));
    CHECK(cudaMemset(from, 1, 4096));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(1));
    CHECK(cudaMallocAsync((void **)&to, 4096, cudaStreamLegacy)); /* allocation */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyPeer(to, 1, from, 0, 4096)); /* previous access */
    CHECK(cudaSetDevice(0));
#ifndef WRONG
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
#endif
    CHECK(cudaFree(to)); /* free */
    CHECK(cudaFree(from));
    return 0;
}
