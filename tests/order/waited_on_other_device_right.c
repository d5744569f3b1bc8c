/* The host waits for cudaStreamLegacy while the device is current that has the copy.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *buffer;
    CHECK(cudaMallocHost((void **)&buffer, MiB));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMemcpyAsync(data, buffer, MiB, cudaMemcpyHostToDevice, cudaStreamLegacy)); /* one */
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFreeHost(buffer));                        /* other */
    CHECK(cudaSetDevice(1));
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    return 0;
}
