/* The host waits for the legacy stream after a cudaMemcpy from device to device, before stream b
 * writes.
 *
 * WRONG: the host does not wait, and the call returns before the copy is over: no edge from it to
 * b's write.
 * Kind: unordered writes */
#include "litmus.h"

NONBLOCKING_LITMUS(b)
{
    int *from, *to;
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(cudaMalloc((void **)&to, MiB));

    CHECK(cudaMemcpy(to, from, MiB, cudaMemcpyDeviceToDevice)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
#endif
    CHECK(launch_add(to, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
}
