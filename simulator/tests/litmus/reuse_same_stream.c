/* A stream allocates what it has just freed while the work before the free is pending. Stream order
 * is enough. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
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
    return 0;
}
