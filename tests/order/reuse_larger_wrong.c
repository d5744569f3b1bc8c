/* A stale pointer into a part of the new, larger block that two old blocks gave their room to.
 * Kind: use before allocation */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *first, *second, *both;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&first, MiB, a));
    CHECK(cudaMallocAsync((void **)&second, MiB, a));
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaFreeAsync(second, a));
    CHECK(cudaMallocAsync((void **)&both, 2 * MiB, a)); /* one */
    CHECK(launch_fill(second, 1, 4, b));                /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(both, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
