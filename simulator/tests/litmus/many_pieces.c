/* Stream a writes 64 pieces one by one. The host waits for a before stream b writes the first of
 * them.
 *
 * WRONG: the host waits for b only: no edge from a's write of the first piece to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    size_t count = 1024;
    int *data;
    CHECK(cudaMalloc((void **)&data, 64 * count * sizeof(int)));

    for (size_t i = 0; i < 64; i++)
        CHECK(launch_fill(data + i * count, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaStreamSynchronize(b));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
