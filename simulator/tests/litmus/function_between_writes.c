/* Stream a fills, has a host function, and adds to what it has filled. Stream b waits for all of
 * that before it writes.
 *
 * WRONG: b does not wait. Whatever the host function waits for, b's write is unordered with the
 * fill in front of it, which the add behind it covers.
 * Kind: unordered writes */
#include "litmus.h"

static void nothing(void *unused) { (void)unused; }

NONBLOCKING_LITMUS(a, b)
{
    int *data;
    cudaEvent_t added;
    CHECK(cudaEventCreate(&added));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_add(data, 1, count, a));
    CHECK(cudaEventRecord(added, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, added, 0));
#endif
    CHECK(launch_fill(data, 3, count, b)); /* access */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
