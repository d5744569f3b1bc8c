/* Stream b waits for a's fill, and adds to it behind a closed gate. Stream c waits for the fill,
 * too; the host waits for c before it opens the gate, which orders c's memset and the add.
 *
 * WRONG: c does not wait. The gate orders its memset before the add, and leaves it unordered with
 * the fill, which the gate does not hold up.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b, c)
{
    int *data;
    cudaEvent_t filled;
    volatile int *gate = gate_create();
    CHECK(cudaEventCreate(&filled));
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(cudaEventRecord(filled, a));
    CHECK(cudaStreamWaitEvent(b, filled, 0));
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(c, filled, 0));
#endif
    CHECK(cudaMemsetAsync(data, 0, 4096, c)); /* access */
    CHECK(cudaStreamSynchronize(c));
    gate_open(gate);
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
