/* The host waits for a's free, and stream b gets the memory. Stream a is done with it.
 *
 * WRONG: stream a writes through the stale pointer: no edge from b's allocation to that write.
 * Kind: use before allocation
 * Also: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *old, *newer;
    CHECK(cudaMallocAsync((void **)&old, MiB, a));
    CHECK(launch_fill(old, 1, 4, a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMallocAsync((void **)&newer, MiB, b)); /* allocation */
#ifdef WRONG
    CHECK(launch_fill(old, 2, 4, a)); /* access */
#endif
    CHECK(launch_fill(newer, 3, 4, b));
    CHECK(cudaFreeAsync(newer, b));
    CHECK(cudaDeviceSynchronize());
}
