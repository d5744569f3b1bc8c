/* Stream b waits for an event before the event is recorded again: the wait is for the first record.
 *
 * WRONG: b waits for the second record, of stream c: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b, c)
{
    int *data;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(event, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, event, 0));
#endif
    CHECK(cudaEventRecord(event, c));
#ifdef WRONG
    CHECK(cudaStreamWaitEvent(b, event, 0));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
