/* A copy from the host to the host is over when the call returns; one from a device is not.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *from, *to, *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocHost((void **)&from, MiB));
    CHECK(cudaMallocHost((void **)&to, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemcpyAsync(to, data, MiB, cudaMemcpyDeviceToHost, a));   /* one */
    CHECK(launch_add(to, 1, count, b));                 /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(from));
    CHECK(cudaFreeHost(to));
    return 0;
}
