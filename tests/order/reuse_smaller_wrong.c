/* The old pointer is used in another stream over its old size, larger than the new block at its address.
 * Kind: access outside the allocation
 * Also: use before allocation */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *old, *new;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&old, MiB, a));
    CHECK(launch_fill(old, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaMallocAsync((void **)&new, 4096, a));     /* one */
    CHECK(launch_fill(old, 1, MiB / sizeof(int), b));   /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(new, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
