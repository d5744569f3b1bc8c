/* The kernel comes before the free. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *host;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&host, MiB));

    CHECK(launch_fill(host, 1, 4, a));
    CHECK(cudaFreeHost(host));                          /* one */
    (void)cudaStreamSynchronize(a);
    return 0;
}
