/* A block of a pool is freed before the program ends. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));     /* one */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
