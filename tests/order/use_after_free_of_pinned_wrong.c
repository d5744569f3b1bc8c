/* A copy to pinned memory that is freed.
 * Fatal: nothing is at that address any more, and a copy touches it: SIGSEGV, as on a device
 * Kind: use after free */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *host;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&host, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

    CHECK(cudaFreeHost(host));                          /* one */
    (void)cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a);   /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
