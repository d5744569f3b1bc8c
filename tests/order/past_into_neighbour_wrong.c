/* Stream a writes past its block into the neighbour, which stream b writes.
 * Kind: access outside the allocation */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *first, *second;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&first, 512));            /* one */
    CHECK(cudaMalloc((void **)&second, 512));
    CHECK(launch_fill(second, 1, 128, b));
    CHECK(launch_fill(first, 1, 256, a));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(first));
    CHECK(cudaFree(second));
    return 0;
}
