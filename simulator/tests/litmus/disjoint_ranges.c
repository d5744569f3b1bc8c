/* Two streams write one allocation at the same time, each its own half. No edge is needed. */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count / 2, a));
    CHECK(launch_fill(data + count / 2, 2, count / 2, b));
    CHECK(launch_add(data, 1, count / 2, a));
    CHECK(launch_add(data + count / 2, 1, count / 2, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
