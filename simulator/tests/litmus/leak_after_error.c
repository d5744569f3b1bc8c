/* A program that ends because a call failed frees nothing more, and no leak is reported.
 * Status: 1 */
#include "litmus.h"

int main(void)
{
    int *data, *more;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMallocAsync((void **)&more, (size_t)1 << 50, a));
    CHECK(cudaFreeAsync(more, a));
    CHECK(cudaFreeAsync(data, a));
    return 0;
}
