/* A copy in rows is ordered after what wrote its source by an event.
 *
 * WRONG: no edge from a's memset to b's copy.
 * Kind: read not ordered after a write */
#include "litmus.h"

NONBLOCKING_LITMUS(a, b)
{
    const size_t width = 100, height = 10, pitch = 128;
    char *data, *pinned;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocHost((void **)&pinned, width * height));
    CHECK(cudaMalloc((void **)&data, pitch * height));

    CHECK(cudaMemset2DAsync(data, pitch, 1, width, height, a)); /* previous access */
    CHECK(cudaEventRecord(written, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    /* access */
    CHECK(cudaMemcpy2DAsync(pinned, width, data, pitch, width, height, cudaMemcpyDeviceToHost, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(pinned));
}
