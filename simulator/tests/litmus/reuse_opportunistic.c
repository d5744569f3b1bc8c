/* Stream b gets memory that stream a has freed, because a has got there. Stream b writes that
 * memory only.
 *
 * WRONG: b writes another allocation, counting on a's progress, which orders nothing: no edge from
 * a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *other, *freed, *data;
    CHECK(cudaMalloc((void **)&other, MiB));

    CHECK(launch_fill(other, 1, count, a)); /* previous access */
    CHECK(cudaMallocAsync((void **)&freed, MiB, a));
    CHECK(launch_fill(freed, 1, count, a));
    CHECK(cudaFreeAsync(freed, a));
    usleep(30000);
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(launch_fill(data, 2, count, b));
#ifdef WRONG
    CHECK(launch_add(other, 1, count, b)); /* access */
#else
    CHECK(launch_add(data, 1, count, b));
#endif
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(other));
}
