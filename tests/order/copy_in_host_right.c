/* A copy from pinned memory to pinned memory is over when the call returns, cudaMemcpyAsync too. */
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

    CHECK(cudaMemcpyAsync(to, from, MiB, cudaMemcpyHostToHost, a));
    CHECK(launch_add(to, 1, count, b));                 /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(from));
    CHECK(cudaFreeHost(to));
    return 0;
}
