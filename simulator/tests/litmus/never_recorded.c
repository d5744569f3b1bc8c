/* Stream b waits for an event that has been recorded.
 *
 * WRONG: the event is recorded after the wait, which therefore waits for nothing: no edge from a's
 * write to b's.
 * Kind: unordered writes
 * Says: The wait came before the record: it waits for nothing */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecord(written, a));
#endif
    CHECK(cudaStreamWaitEvent(b, written, 0));
#ifdef WRONG
    CHECK(cudaEventRecord(written, a));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
