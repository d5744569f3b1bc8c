/* A memset in the legacy stream waits for stream a, and stream b waits for the memset.
 *
 * WRONG: the host queries the legacy stream, which puts no work there: no edge from a's write to
 * b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data, *other;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, MiB));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifdef WRONG
    if (cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady)
#else
    if (cudaMemsetAsync(other, 0, MiB, cudaStreamLegacy) == cudaSuccess)
#endif
        gate_open(gate);
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    gate_destroy(gate);
}
