/* A stream of device 1 copies from an allocation of device 0, and the free there waits for the
 * copy.
 * Devices: 2
 *
 * WRONG: the free does not wait: no edge from the copy's read to it.
 * Kind: free before the use ends */
#include "litmus.h"

int main(void)
{
    int *from, *to;
    cudaStream_t a, b;
    cudaEvent_t filled, copied;
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&filled));
    CHECK(cudaMallocAsync((void **)&from, MiB, a));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a));
    CHECK(cudaEventRecord(filled, a));
    CHECK(cudaStreamWaitEvent(b, filled, 0));
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, b)); /* access */
#ifndef WRONG
    CHECK(cudaEventRecord(copied, b));
    CHECK(cudaStreamWaitEvent(a, copied, 0));
#endif
    CHECK(cudaFreeAsync(from, a)); /* free */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(to));
    return 0;
}
