/* The host polls pinned memory that a kernel writes behind a's fill. Then it waits for a, before b
 * uses what was filled.
 *
 * WRONG: the host does not wait. That it has seen the kernel's write is no edge: a plain store of a
 * kernel and a load of the host, with no synchronization of the two, order nothing.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    volatile int *flag = gate_create();
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(launch_fill((int *)flag, 1, 1, a));
    while (!*flag)
        (void)cudaStreamQuery(b);
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    gate_destroy(flag);
}
