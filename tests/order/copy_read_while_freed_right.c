/* The host waits first. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *host;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&host, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a));     /* one */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(data));                              /* other */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(host));
    return 0;
}
