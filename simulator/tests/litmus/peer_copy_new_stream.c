/* A stream that is made after cudaMemcpyPeer uses what that copies. Its work comes after the copy
 * (documented: serialized with all future work of the devices).
 * Devices: 2
 *
 * WRONG: the copy is cudaMemcpyPeerAsync in a stream: no edge from it to the add.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    int *from, *to;
    cudaStream_t a, b;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(cudaStreamCreate(&a));
#ifdef WRONG
    CHECK(cudaMemcpyPeerAsync(to, 0, from, 1, MiB, a)); /* previous access */
#else
    CHECK(cudaMemcpyPeer(to, 0, from, 1, MiB));
#endif
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(launch_add(to, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(to));
    CHECK(cudaFree(from));
    return 0;
}
