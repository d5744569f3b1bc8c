/* Stream b's add is queued behind a gate, before a's fill. The host opens the gate when it has
 * waited for the fill, which therefore comes first.
 *
 * WRONG: the host opens the gate first: no edge between the two.
 * Kind: unordered writes
 * Says: if the host waited for launch_fill (stream 1) before it opens the gate */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    volatile int *gate = gate_create();
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b));  /* previous access */
    CHECK(launch_fill(data, 1, 1024, a)); /* access */
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
