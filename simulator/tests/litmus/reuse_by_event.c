/* Stream b gets the memory that stream a has freed: it waits for an event that a recorded after the
 * free. */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t freed;
    CHECK(cudaEventCreate(&freed));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaEventRecord(freed, a));
    CHECK(cudaStreamWaitEvent(b, freed, 0));
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(launch_fill(data, 2, count, b));
    CHECK(cudaFreeAsync(data, b));
    gate_open(gate);
    CHECK(cudaStreamSynchronize(b));
    gate_destroy(gate);
}
