/* Two streams write an allocation each, side by side in memory.
 *
 * WRONG: stream a writes past its allocation into its neighbor, which stream b writes.
 * Kind: access outside the allocation */
#include "litmus.h"

LITMUS(a, b)
{
    int *first, *second;
    CHECK(cudaMalloc((void **)&first, 512)); /* allocation */
    CHECK(cudaMalloc((void **)&second, 512));
    CHECK(launch_fill(second, 1, 128, b));
#ifdef WRONG
    CHECK(launch_fill(first, 1, 256, a)); /* access */
#else
    CHECK(launch_fill(first, 1, 128, a));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(first));
    CHECK(cudaFree(second));
}
