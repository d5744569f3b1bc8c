/* Work on zero bytes, and allocations of zero bytes, are no access. */
#include "litmus.h"

LITMUS(a, b)
{
    int *data, *none;
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMallocAsync((void **)&none, 0, a));
    CHECK(cudaMemsetAsync(data, 0, 0, b));
    CHECK(cudaMemcpyAsync(data, data + 4, 0, cudaMemcpyDeviceToDevice, b));
    CHECK(cudaFreeAsync(none, b));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaFree(NULL));
    CHECK(cudaStreamSynchronize(a));
}
