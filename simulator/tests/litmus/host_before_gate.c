/* The host reads the buffer while the gate is closed: the copy behind the gate cannot have begun.
 * Prints: 7
 *
 * WRONG: the host opens the gate before it reads: no edge from the copy to the host's read.
 * Kind: host access not ordered after a write */
#include "litmus.h"

LITMUS(a)
{
    int *data, *result;
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMemset(data, 0, MiB));
    CHECK(cudaDeviceSynchronize());
    volatile int *gate = gate_create();
    result[0] = 7;

    CHECK(launch_hold(gate, a));
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
#ifdef WRONG
    gate_open(gate);
#endif
    int value = result[0]; /* access */
#ifndef WRONG
    gate_open(gate);
#endif
    CHECK(cudaStreamSynchronize(a));
    printf("%d\n", value);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    gate_destroy(gate);
}
