/* Two streams write the same rows of one allocation at the same time, one the left half of each,
 * one the right half. What lies between the halves' rows is not touched, so no edge is needed.
 *
 * WRONG: the left half is one byte wider.
 * Kind: unordered writes */
#include "litmus.h"

NONBLOCKING_LITMUS(a, b)
{
    const size_t width = 1024, height = 100;
    char *data;
    size_t pitch;
    CHECK(cudaMallocPitch((void **)&data, &pitch, width, height));

#ifdef WRONG
    CHECK(cudaMemset2DAsync(data, pitch, 1, width / 2 + 1, height, a)); /* previous access */
#else
    CHECK(cudaMemset2DAsync(data, pitch, 1, width / 2, height, a));
#endif
    CHECK(cudaMemset2DAsync(data + width / 2, pitch, 2, width / 2, height, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
