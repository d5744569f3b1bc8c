/* A copy is in the legacy stream of device 1; the host waits for cudaStreamLegacy while device 0 is current, which is another stream. The report says so.
 * Kind: free before the use ends
 * Says: while device 1 is current
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
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    CHECK(cudaFreeHost(buffer));                        /* other */
    CHECK(cudaSetDevice(1));
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    return 0;
}
