/* Stream a writes a block and copies it to the host. Stream b copies it, too, but does not wait for the writing.
 * Kind: read not ordered after a write */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *one, *other;
    cudaStream_t a, b;
    cudaEvent_t written;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocHost((void **)&one, MiB));
    CHECK(cudaMallocHost((void **)&other, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));  /* one */
    CHECK(cudaEventRecord(written, a));
    CHECK(cudaMemcpyAsync(one, data, MiB, cudaMemcpyDeviceToHost, a));
    CHECK(cudaMemcpyAsync(other, data, MiB, cudaMemcpyDeviceToHost, b));        /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(one));
    CHECK(cudaFreeHost(other));
    return 0;
}
