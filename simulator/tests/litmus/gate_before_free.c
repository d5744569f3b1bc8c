/* Stream b frees what a uses, behind a gate that the host opens when it has waited for a.
 *
 * WRONG: the host has waited only for what a did before its last fill.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t event;
    volatile int *gate = gate_create();
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocAsync((void **)&data, 4096, a));
    CHECK(cudaEventRecord(event, a));
    CHECK(launch_fill(data, 1, 1024, a)); /* access */
#ifndef WRONG
    CHECK(cudaEventRecord(event, a));
#endif
    CHECK(launch_hold(gate, b));
    CHECK(cudaFreeAsync(data, b)); /* free */
    CHECK(cudaEventSynchronize(event));
    gate_open(gate);
    CHECK(cudaDeviceSynchronize());
    gate_destroy(gate);
}
