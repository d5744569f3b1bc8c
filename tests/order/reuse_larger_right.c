/* The pointer is the new block's, and the stream its own. */
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
    CHECK(launch_fill(both, 1, 4, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(both, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
