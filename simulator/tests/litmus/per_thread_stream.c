/* The per-thread default stream writes, then the legacy stream, which waits for it.
 *
 * WRONG: a blocking stream writes next. It and the per-thread stream wait for the legacy stream
 * only: no edge between the two writes.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, cudaStreamPerThread)); /* previous access */
#ifdef WRONG
    CHECK(launch_add(data, 1, count, a)); /* access */
#else
    CHECK(launch_add(data, 1, count, cudaStreamLegacy));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
