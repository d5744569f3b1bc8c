/* A block of cudaMalloc is freed once by cudaFreeAsync. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
