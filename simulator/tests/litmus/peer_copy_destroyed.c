/* cudaMemcpyPeer waits also for the pending work of a stream that is destroyed (documented:
 * serialized with all pending work).
 * Devices: 2
 *
 * WRONG: the copy is cudaMemcpyPeerAsync in a stream: no edge from the fill to it.
 * Kind: read not ordered after a write */
#include "litmus.h"

int main(void)
{
    int *from, *to;
    cudaStream_t a;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a)); /* previous access */
    CHECK(cudaStreamDestroy(a));
#ifdef WRONG
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, 0)); /* access */
#else
    CHECK(cudaMemcpyPeer(to, 1, from, 0, MiB));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(1));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return 0;
}
