/* A block is used before its free, in the same stream. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
