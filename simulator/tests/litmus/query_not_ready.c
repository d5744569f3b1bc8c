/* The host queries stream a, gets cudaErrorNotReady, and waits.
 * Prints: not ready
 *
 * WRONG: the host goes on all the same: no edge from a's write to b's.
 * Kind: unordered writes
 * Prints: not ready */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    if (cudaStreamQuery(a) == cudaErrorNotReady)
        printf("not ready\n");
    gate_open(gate);
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
