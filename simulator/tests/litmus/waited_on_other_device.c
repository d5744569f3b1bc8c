/* The host waits for cudaStreamLegacy while the device is current that has the copy.
 * Devices: 2
 *
 * WRONG: it waits while device 0 is current, for another stream: no edge from the copy of device 1
 * to the free.
 * Kind: free before the use ends
 * Says: while device 1 is current */
#include "litmus.h"

int main(void)
{
    int *data, *buffer;
    CHECK(cudaMallocHost((void **)&buffer, MiB));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **)&data, MiB));
    /* access */
    CHECK(cudaMemcpyAsync(data, buffer, MiB, cudaMemcpyHostToDevice, cudaStreamLegacy));
#ifndef WRONG
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
#endif
    CHECK(cudaSetDevice(0));
#ifdef WRONG
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
#endif
    CHECK(cudaFreeHost(buffer)); /* free */
    CHECK(cudaSetDevice(1));
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    return 0;
}
