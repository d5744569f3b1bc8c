/* Stream b gets the memory that stream a has freed: it waits for an event that a recorded after the
 * free. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t freed;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
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
    return 0;
}
