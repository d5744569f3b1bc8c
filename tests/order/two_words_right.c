/* The host waits behind both. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *host;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocHost((void **)&host, 2 * MiB));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a));
    CHECK(cudaMemcpyAsync((char *)host + MiB, data, MiB, cudaMemcpyDeviceToHost, a));   /* one */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemsetAsync(data, 0, 4, b));              /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(host));
    return 0;
}
