/* The host asks stream a, is told that it is not ready, and goes on in stream b all the same.
 * Kind: unordered writes
 * Prints: not ready */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    if (cudaStreamQuery(a) == cudaErrorNotReady)
        printf("not ready\n");
    gate_open(gate);
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    gate_destroy(gate);
    return 0;
}
