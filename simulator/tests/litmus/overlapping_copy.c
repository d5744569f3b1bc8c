/* A copy moves the first half of an allocation to the second; the two ranges do not overlap.
 *
 * WRONG: the copy moves the bytes by one int. The ranges overlap, which no copy of CUDA allows.
 * Kind: overlapping copy */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
#ifdef WRONG
    /* access */
    CHECK(cudaMemcpyAsync(data + 1, data, MiB - sizeof(int), cudaMemcpyDeviceToDevice, a));
#else
    CHECK(cudaMemcpyAsync(data + count / 2, data, MiB / 2, cudaMemcpyDeviceToDevice, a));
#endif
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
