/* A smaller allocation gets the address of a freed one. It is used with its size, in its stream.
 *
 * WRONG: the stale pointer is used with the old size, in another stream.
 * Kind: access outside the allocation
 * Also: use before allocation */
#include "litmus.h"

LITMUS(a, b)
{
    int *old, *newer;
    CHECK(cudaMallocAsync((void **)&old, MiB, a));
    CHECK(launch_fill(old, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaMallocAsync((void **)&newer, 4096, a)); /* allocation */
#ifdef WRONG
    CHECK(launch_fill(old, 1, MiB / sizeof(int), b)); /* access */
#else
    CHECK(launch_fill(newer, 1, 1024, a));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(newer, a));
    CHECK(cudaStreamSynchronize(a));
}
