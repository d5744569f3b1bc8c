/* A kernel writes the second half of an allocation.
 *
 * WRONG: the count is added to the pointer twice, so the kernel writes where nothing is allocated.
 * Kind: use of memory that is not allocated */
#include "litmus.h"

LITMUS(a)
{
    size_t half = MiB / sizeof(int) / 2;
    int *data, *second;

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    second = data + half;
#ifdef WRONG
    CHECK(launch_fill(second + half, 1, half, a)); /* access */
#else
    CHECK(launch_fill(second, 1, half, a));
#endif
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
