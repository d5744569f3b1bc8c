/* A kernel writes all of its allocation, to the last int.
 *
 * WRONG: it writes one int more. The memory there is the pool's, so a device notices nothing.
 * Kind: access outside the allocation */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
#ifdef WRONG
    CHECK(launch_fill(data, 1, count + 1, a)); /* access */
#else
    CHECK(launch_fill(data, 1, count, a));
#endif
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
