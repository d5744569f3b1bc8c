/* A stream allocates what it has just freed while the work before the free is pending. Stream order
 * is enough. */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
    for (int i = 0; i < 4; i++) {
        CHECK(cudaMallocAsync((void **)&data, MiB, a));
        CHECK(launch_fill(data, i, count, a));
        CHECK(cudaFreeAsync(data, a));
    }
    gate_open(gate);
    CHECK(cudaStreamSynchronize(a));
    gate_destroy(gate);
}
