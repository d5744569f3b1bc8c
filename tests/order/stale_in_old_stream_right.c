/* Stream a is done with it before it frees. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *old, *new;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&old, MiB, a));
    CHECK(launch_fill(old, 1, 4, a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMallocAsync((void **)&new, MiB, b));      /* one */
    CHECK(launch_fill(new, 3, 4, b));
    CHECK(cudaFreeAsync(new, b));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
