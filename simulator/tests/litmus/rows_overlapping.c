/* A copy in rows moves the left half of each row to the right half. The two meet nowhere, although
 * the bytes from the first row to the last do.
 *
 * WRONG: it moves each row by half of its half.
 * Kind: overlapping copy */
#include "litmus.h"

LITMUS(a)
{
    const size_t half = 512, height = 100, pitch = 1024;
    char *data;
    CHECK(cudaMallocAsync((void **)&data, pitch * height, a));
    CHECK(cudaMemsetAsync(data, 1, pitch * height, a));
#ifdef WRONG
    const size_t distance = half / 2;
#else
    const size_t distance = half;
#endif
    /* access */
    CHECK(cudaMemcpy2DAsync(data + distance, pitch, data, pitch, half, height,
                            cudaMemcpyDeviceToDevice, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
