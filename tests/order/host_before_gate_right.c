/* The host reads the buffer while the gate is closed: the copy behind it cannot have begun.
 * Prints: 7 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *result;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMemset(data, 0, MiB));
    CHECK(cudaDeviceSynchronize());
    volatile int *gate = gate_create();
    result[0] = 7;

    CHECK(launch_hold(gate, a));
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a));       /* one */
    int value = result[0];                              /* other */
    gate_open(gate);
    CHECK(cudaStreamSynchronize(a));
    printf("%d\n", value);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    gate_destroy(gate);
    return 0;
}
