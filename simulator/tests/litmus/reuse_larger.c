/* Two freed allocations become one larger. Its pointer is used, in its stream.
 *
 * WRONG: a stale pointer into it is used, in another stream: no edge from the new allocation to the
 * write.
 * Kind: use before allocation */
#include "litmus.h"

LITMUS(a, b)
{
    int *first, *second, *both;
    CHECK(cudaMallocAsync((void **)&first, MiB, a));
    CHECK(cudaMallocAsync((void **)&second, MiB, a));
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaFreeAsync(second, a));
    CHECK(cudaMallocAsync((void **)&both, 2 * MiB, a)); /* allocation */
#ifdef WRONG
    CHECK(launch_fill(second, 1, 4, b)); /* access */
#else
    CHECK(launch_fill(both, 1, 4, a));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(both, a));
    CHECK(cudaStreamSynchronize(a));
}
