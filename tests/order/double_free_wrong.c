/* A block of a pool is freed twice. The second call returns cudaErrorInvalidValue, or takes the block of a new owner.
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
    CHECK(cudaFreeAsync(data, a));                      /* other */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
