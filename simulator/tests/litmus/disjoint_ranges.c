/* Two streams write one allocation at the same time, each its own half. No edge is needed. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count / 2, a));
    CHECK(launch_fill(data + count / 2, 2, count / 2, b));
    CHECK(launch_add(data, 1, count / 2, a));
    CHECK(launch_add(data + count / 2, 1, count / 2, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
