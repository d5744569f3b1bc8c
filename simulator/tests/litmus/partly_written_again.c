/* Stream a writes an allocation, then its first half again. Stream b waits, and writes the second
 * half.
 *
 * WRONG: b does not wait: no edge from a's first write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_add(data, 1, count / 2, a));
    CHECK(cudaEventRecord(written, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(launch_add(data + count / 2, 1, count / 2, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
