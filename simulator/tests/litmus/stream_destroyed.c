/* Stream a is synchronized and then destroyed. Stream b writes after its work, and uses its memory
 * again.
 *
 * WRONG: the host does not wait, and cudaStreamDestroy does not either: no edge from a's write to
 * b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaStreamSynchronize(a));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaStreamDestroy(a));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
