/* A program that ends because a call failed frees nothing more, and no leak is reported.
 * Status: 1 */
#include "litmus.h"

LITMUS(a)
{
    int *data, *more;
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMallocAsync((void **)&more, (size_t)1 << 50, a));
    CHECK(cudaFreeAsync(more, a));
    CHECK(cudaFreeAsync(data, a));
}
