/* A stream of device 1 copies from a block of device 0, after an event behind the writing there.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *from, *to;
    cudaStream_t a, b;
    cudaEvent_t written;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocAsync((void **)&from, MiB, a));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a));  /* one */
    CHECK(cudaEventRecord(written, a));

    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&to, MiB, b));
    CHECK(cudaStreamWaitEvent(b, written, 0));
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, b)); /* other */
    CHECK(cudaFreeAsync(to, b));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeAsync(from, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
