/* The legacy stream waits for an event of a non-blocking stream. A blocking stream, which waits for
 * the legacy stream, waits for that event, too. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t written;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count / 2, cudaStreamLegacy));
    CHECK(launch_fill(data, 1, count / 2, b));
    CHECK(launch_fill(data + count / 2, 1, count / 2, a));
    CHECK(cudaEventRecord(written, a));

    usleep(30000);
    CHECK(cudaStreamWaitEvent(cudaStreamLegacy, written, 0));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
