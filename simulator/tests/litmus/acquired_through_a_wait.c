/* Stream b waits for an event that has been reached, and does nothing else. Whoever then waits for
 * b has acquired a's write through that wait. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b, c;
    cudaEvent_t written;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaEventRecord(written, a));
    CHECK(cudaStreamSynchronize(b));

    usleep(30000);
    CHECK(cudaStreamWaitEvent(b, written, 0));
    CHECK(cudaStreamSynchronize(b));
    CHECK(launch_add(data, 1, count, c));
    CHECK(cudaFreeAsync(data, c));
    CHECK(cudaStreamSynchronize(c));
    return 0;
}
