/* Stream b waits for an event that has been reached, and does nothing else. Whoever then waits for
 * b has acquired a's write through that wait. */
#include "litmus.h"

NONBLOCKING_LITMUS(a, b, c)
{
    int *data;
    cudaEvent_t written;
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
}
