/* The host uses one half of a pinned buffer while a copy to the other half is pending, even in one
 * page.
 * Prints: 7 */
#include "litmus.h"

LITMUS(a)
{
    int *data, *result;
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMemcpyAsync(result + 1000, data, 500000, cudaMemcpyDeviceToHost, a));
    for (int i = 0; i < 1000; i++)
        result[i] = 7;
    for (size_t i = 1000 + 125000; i < MiB / sizeof(int); i++)
        result[i] = 7;
    printf("%d\n", result[999]);
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
}
