/* The host waits for an event that is recorded after the write.
 *
 * WRONG: the event is recorded before the write: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

#ifdef WRONG
    CHECK(cudaEventRecord(written, a));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecord(written, a));
#endif
    CHECK(cudaEventSynchronize(written));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
