/* A block of a pool is freed once. */
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
    return 0;
}
