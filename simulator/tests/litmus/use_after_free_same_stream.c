/* An allocation is used before its free, in the same stream.
 *
 * WRONG: it is used after the free. A device notices nothing while the pool keeps the memory.
 * Kind: use after free */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
#ifndef WRONG
    CHECK(launch_fill(data, 1, count, a));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(launch_fill(data, 1, count, a)); /* access */
#endif
    CHECK(cudaStreamSynchronize(a));
}
