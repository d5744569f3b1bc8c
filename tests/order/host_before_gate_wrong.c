/* The host reads the buffer when it has opened the gate, and has not waited for the copy behind it.
 * Kind: host access not ordered after a write */
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
    gate_open(gate);
    int value = result[0];                              /* other */
    CHECK(cudaStreamSynchronize(a));
    printf("%d\n", value);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    gate_destroy(gate);
    return 0;
}
