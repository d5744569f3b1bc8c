/* An event is destroyed before it is reached. The wait for it stays in the stream. */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaEvent_t written;
    CHECK(cudaEventCreate(&written));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaEventRecord(written, a));
    CHECK(cudaStreamWaitEvent(b, written, 0));
    CHECK(cudaEventDestroy(written));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaDeviceSynchronize());
}
