/* The two ranges touch each other. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    char *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, 1000));

    CHECK(cudaMemsetAsync(data, 1, 500, a));            /* one */
    CHECK(cudaMemsetAsync(data + 500, 2, 500, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
