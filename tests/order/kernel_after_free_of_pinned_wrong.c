/* A kernel writes pinned memory that is freed.
 * Kind: use after free */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *host;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&host, MiB));

    CHECK(cudaFreeHost(host));                          /* one */
    (void)launch_fill(host, 1, 4, a);                   /* other */
    (void)cudaStreamSynchronize(a);
    return 0;
}
