/* The two ranges have one byte in common.
 * Kind: unordered writes */
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
    CHECK(cudaMemsetAsync(data + 499, 2, 501, b));      /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
