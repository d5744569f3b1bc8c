/* A host function after a's write sets a flag, and the host waits for the flag.
 *
 * WRONG: the host function comes before the write: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

#ifdef WRONG
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
#endif
    while (!atomic_load(&flag))
        (void)cudaStreamQuery(b);
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
