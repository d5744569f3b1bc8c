/* An event is destroyed before it is reached. The wait for it stays in the stream. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t written;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&written));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaEventRecord(written, a));
    CHECK(cudaStreamWaitEvent(b, written, 0));
    CHECK(cudaEventDestroy(written));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
