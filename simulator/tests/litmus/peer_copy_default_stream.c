/* While device 0 is current, cudaMemcpyPeer copies between two allocations of device 1. That
 * device's default stream is used for the first time afterwards; its work comes after the copy
 * (documented: serialized with all future work of the devices).
 * Devices: 2
 *
 * WRONG: the copy is cudaMemcpyPeerAsync in a stream: no edge from it to the add.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    int *from, *to;
    cudaStream_t a;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&a));
#ifdef WRONG
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 1, MiB, a)); /* previous access */
#else
    CHECK(cudaMemcpyPeer(to, 1, from, 1, MiB));
#endif
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(to, 1, MiB / sizeof(int), 0)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return 0;
}
