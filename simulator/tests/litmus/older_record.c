/* Stream b waits after the event was recorded again: it waits for the newer record.
 *
 * WRONG: b waits before that, for the older record: no edge from a's write to b's.
 * Kind: unordered writes
 * Says: The wait came before the newest record: it waits for an older one */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaEventRecord(event, a));
#ifdef WRONG
    CHECK(cudaStreamWaitEvent(b, event, 0));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(event, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, event, 0));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
