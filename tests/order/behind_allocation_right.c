/* A kernel writes the second half of a block. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t half = MiB / sizeof(int) / 2;
    int *data, *second;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    second = data + half;
    CHECK(launch_fill(second, 1, half, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
