/* The host asks for the legacy stream. That puts nothing into it, so it orders nothing: stream b does not wait for
 * stream a.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *other;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, MiB));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    if (cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady)
        gate_open(gate);
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    gate_destroy(gate);
    return 0;
}
