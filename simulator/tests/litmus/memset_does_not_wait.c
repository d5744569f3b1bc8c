/* The host waits after a cudaMemset of device memory, before stream b writes.
 *
 * WRONG: the host does not wait, and the call, though not named Async, returns early: no edge from
 * it to b's write.
 * Kind: unordered writes */
#include "litmus.h"

NONBLOCKING_LITMUS(b)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemset(data, 0, MiB)); /* previous access */
#ifndef WRONG
    CHECK(cudaDeviceSynchronize());
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
