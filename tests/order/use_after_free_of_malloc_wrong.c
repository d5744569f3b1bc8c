/* A block of cudaMalloc is freed by cudaFreeAsync, and used after that in the same stream.
 * Kind: use after free */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(launch_add(data, 1, count, a));               /* other */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
