/* The event is destroyed after the wait for it was queued: the wait holds.
 *
 * WRONG: it is destroyed and created again before the wait, and a new event has no record: no edge
 * from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc((void **)&data, 64 * MiB));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(event, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, event, 0));
#endif
    CHECK(cudaEventDestroy(event));
#ifdef WRONG
    CHECK(cudaEventCreate(&event));
    CHECK(cudaStreamWaitEvent(b, event, 0));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaFree(data));
}
