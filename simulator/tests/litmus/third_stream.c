/* Three streams in a row: c waits for b, and b for a's write.
 *
 * WRONG: b waits for an event before a's write: no edge from a's write to c's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b, c)
{
    int *data;
    cudaEvent_t first, second;
    CHECK(cudaEventCreate(&first));
    CHECK(cudaEventCreate(&second));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
#ifdef WRONG
    CHECK(cudaEventRecord(first, a));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecord(first, a));
#endif
    CHECK(cudaStreamWaitEvent(b, first, 0));
    CHECK(cudaEventRecord(second, b));
    CHECK(cudaStreamWaitEvent(c, second, 0));
    CHECK(launch_add(data, 1, count, c)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, c));
    CHECK(cudaStreamSynchronize(c));
}
