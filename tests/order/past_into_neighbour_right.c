/* Each stream stays in its block. */
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
    CHECK(launch_fill(first, 1, 128, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(first));
    CHECK(cudaFree(second));
    return 0;
}
