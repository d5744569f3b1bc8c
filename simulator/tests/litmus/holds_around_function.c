/* A kernel in stream a holds. Behind it a memset, a host function, a kernel that holds at the same
 * gate, and a fill of the same bytes. Stream b waits for all of that before it writes.
 *
 * WRONG: b does not wait. The host waits for b before the host function returns, if that is late,
 * and so orders the fill. The memset, which the fill covers, is held up by the gate alone.
 * Kind: unordered writes */
#include "litmus.h"

static void nothing(void *unused) { (void)unused; }

NONBLOCKING_LITMUS(a, b)
{
    volatile int *gate = gate_create();
    int *data;
    cudaEvent_t filled;
    CHECK(cudaEventCreate(&filled));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_hold(gate, a));
    CHECK(cudaMemsetAsync(data, 0, MiB, a));
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaEventRecord(filled, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, filled, 0));
#endif
    CHECK(launch_fill(data, 3, count, b)); /* access */
    gate_open(gate);
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
