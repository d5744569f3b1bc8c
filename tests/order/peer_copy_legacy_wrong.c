/* A copy between two devices in the legacy stream does not wait for a stream that was made with cudaStreamNonBlocking (chosen: as all in the legacy stream).
 * Kind: unordered writes
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *from, *to;
    cudaStream_t other;
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), cudaStreamLegacy));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(launch_fill(to, 2, MiB / sizeof(int), other));         /* one */
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, cudaStreamLegacy));  /* other */
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(to, 1, MiB / sizeof(int), other));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaFree(to));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(from));
    return 0;
}
