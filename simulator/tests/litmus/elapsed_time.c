/* When cudaEventElapsedTime succeeds, both events have been reached, and the host has acquired what
 * came before them, as from a query.
 *
 * WRONG: the host queries the event before the write only: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    float ms;
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));

    CHECK(cudaMallocAsync((void **)&data, 64 * MiB, a));
    CHECK(cudaEventRecord(before, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(after, a));
#ifdef WRONG
    (void)cudaEventElapsedTime(&ms, before, before);
#else
    while (cudaEventElapsedTime(&ms, before, after) == cudaErrorNotReady)
        ;
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
