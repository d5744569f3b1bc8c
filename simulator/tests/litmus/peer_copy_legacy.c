/* A copy between two devices in the legacy stream comes after all that either device was given
 * before, and before all that it is given later (documented: CUDA Programming Guide, peer-to-peer
 * memory copy). No event is needed.
 * Devices: 2
 *
 * WRONG: the other stream is a non-blocking one, for which no work in the legacy stream waits
 * (assumed for this copy, too): no edge from its write to the copy's.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    int *from, *to;
    cudaStream_t other;
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), cudaStreamLegacy));
    CHECK(cudaSetDevice(1));
#ifdef WRONG
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
#else
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamDefault));
#endif
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(launch_fill(to, 2, MiB / sizeof(int), other)); /* previous access */
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, cudaStreamLegacy)); /* access */
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(to, 1, MiB / sizeof(int), other));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaFree(to));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(from));
    return 0;
}
