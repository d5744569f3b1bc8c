/* Stream b waits for an event that is recorded after a's host function and a's write.
 *
 * WRONG: the event is recorded before the host function: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

static void nothing(void *unused) { (void)unused; }

LITMUS(a, b)
{
    int *data;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
#ifdef WRONG
    CHECK(cudaEventRecord(event, a));
#endif
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecord(event, a));
#endif
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
