/* Stream b uses and frees what a allocates, behind a gate that the host opens when it has waited
 * for a.
 *
 * WRONG: the host opens the gate first: no edge from the allocation to the use.
 * Kind: use before allocation
 * Also: free before allocation */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    volatile int *gate = gate_create();
    CHECK(cudaMallocAsync((void **)&data, 4096, a)); /* allocation */
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
#ifdef WRONG
    gate_open(gate);
#endif
    CHECK(cudaStreamSynchronize(a));
#ifndef WRONG
    gate_open(gate);
#endif
    CHECK(cudaStreamSynchronize(b));
    gate_destroy(gate);
}
