/* Both streams are behind gates. The host opens a's, waits for a, and opens b's.
 *
 * WRONG: the host opens both, then waits for both.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    volatile int *gate_a = gate_create(), *gate_b = gate_create();
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_hold(gate_b, b));
    CHECK(launch_add(data, 1, 1024, b)); /* previous access */
    CHECK(launch_hold(gate_a, a));
    CHECK(launch_fill(data, 1, 1024, a)); /* access */
    gate_open(gate_a);
#ifdef WRONG
    gate_open(gate_b);
#endif
    CHECK(cudaStreamSynchronize(a));
    gate_open(gate_b);
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(data));
    gate_destroy(gate_a);
    gate_destroy(gate_b);
}
