/* Two streams read one allocation at the same time, each into its own memory. No edge is needed. */
#include "litmus.h"

LITMUS(a, b)
{
    int *data, *one, *other;
    CHECK(cudaMallocHost((void **)&one, MiB));
    CHECK(cudaMallocHost((void **)&other, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaStreamSynchronize(a));

    CHECK(cudaMemcpyAsync(one, data, MiB, cudaMemcpyDeviceToHost, a));
    CHECK(cudaMemcpyAsync(other, data, MiB, cudaMemcpyDeviceToHost, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(one));
    CHECK(cudaFreeHost(other));
}
