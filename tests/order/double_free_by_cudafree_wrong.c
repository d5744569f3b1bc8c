/* A block of a pool is freed by cudaFreeAsync, and once more by cudaFree.
 * Kind: double free */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(data));                              /* other */
    return 0;
}
