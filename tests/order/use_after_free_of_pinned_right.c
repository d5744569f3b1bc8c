/* The copy comes before the free. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *host;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&host, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a));
    CHECK(cudaFreeHost(host));                          /* one */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
