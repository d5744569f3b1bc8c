/* The free waits for the copy.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *from, *to;
    cudaStream_t a, b;
    cudaEvent_t filled, copied;
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&filled));
    CHECK(cudaMallocAsync((void **)&from, MiB, a));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a));
    CHECK(cudaEventRecord(filled, a));
    CHECK(cudaStreamWaitEvent(b, filled, 0));
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, b)); /* one */
    CHECK(cudaEventRecord(copied, b));
    CHECK(cudaStreamWaitEvent(a, copied, 0));
    CHECK(cudaFreeAsync(from, a));                      /* other */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(to));
    return 0;
}
