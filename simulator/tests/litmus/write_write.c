/* Two streams write ranges of one allocation that overlap, and b waits for an event after a's
 * write.
 *
 * WRONG: b does not wait: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count / 2 + 1, a)); /* previous access */
    CHECK(cudaEventRecord(written, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(launch_fill(data + count / 2, 2, count / 2, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
