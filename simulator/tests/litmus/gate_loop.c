/* Two streams add to the same bytes again and again, b behind a gate. The host opens it when it has
 * waited for all of a's work.
 *
 * WRONG: the host has not waited for the last round of a.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t event;
    volatile int *gate = gate_create();
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_hold(gate, b));
    for (int i = 0; i < 100; i++) {
#ifdef WRONG
        CHECK(cudaEventRecord(event, a));
#endif
        CHECK(launch_add(data, 1, 1024, a)); /* access */
#ifndef WRONG
        CHECK(cudaEventRecord(event, a));
#endif
        CHECK(launch_add(data, 1, 1024, b)); /* access */
    }
    CHECK(cudaEventSynchronize(event));
    gate_open(gate);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
