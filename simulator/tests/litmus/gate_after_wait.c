/* Stream b's add is behind a gate, which the host opens when it has waited for a's fill.
 *
 * WRONG: the host opens the gate first: no edge from the fill to the add.
 * Kind: unordered writes
 * Says: if the host waited for launch_fill (stream 1) before it opens the gate */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    volatile int *gate = gate_create();
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
#ifdef WRONG
    gate_open(gate);
#endif
    CHECK(cudaStreamSynchronize(a));
#ifndef WRONG
    gate_open(gate);
#endif
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
