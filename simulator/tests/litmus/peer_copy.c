/* A stream of device 1 copies from an allocation of device 0, after an event after the write there.
 * Devices: 2
 *
 * WRONG: the stream does not wait: no edge from the write on device 0 to the copy's read.
 * Kind: read not ordered after a write */
#include "litmus.h"

LITMUS(a)
{
    int *from, *to;
    cudaStream_t b;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocAsync((void **)&from, MiB, a));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a)); /* previous access */
    CHECK(cudaEventRecord(written, a));

    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&to, MiB, b));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, b)); /* access */
    CHECK(cudaFreeAsync(to, b));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeAsync(from, a));
    CHECK(cudaStreamSynchronize(a));
}
