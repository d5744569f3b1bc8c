/* Two copies write the same pinned bytes. The second waits for a gate that the host has yet to open, but the first does not.
 * Kind: host access not ordered after a write */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *back, sum = 0;
    cudaStream_t stream;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost((void **)&back, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, stream));
    CHECK(cudaMemsetAsync(data, 0, MiB, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpyAsync(back, data, MiB, cudaMemcpyDeviceToHost, stream));    /* one */
    CHECK(launch_hold(gate, stream));
    CHECK(cudaMemcpyAsync(back, data, MiB, cudaMemcpyDeviceToHost, stream));
    sum += back[MiB / sizeof(int) / 2];                 /* other */
    gate_open(gate);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(back));
    gate_destroy(gate);
    return sum;
}
