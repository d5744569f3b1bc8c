/* A kernel writes behind the block, where nothing is allocated: a count was added to the pointer twice.
 * Kind: use of memory that is not allocated */
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
    CHECK(launch_fill(second + half, 1, half, a));      /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
