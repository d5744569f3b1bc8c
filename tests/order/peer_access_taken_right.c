/* Device 1 gives up its access to device 0's memory when the kernel there that uses it is over.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t far;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(cudaMemset(data, 0, MiB));
    CHECK(cudaDeviceSynchronize());
    CHECK(launch_add(data, 1, MiB / sizeof(int), far));
    CHECK(cudaStreamSynchronize(far));
    CHECK(cudaDeviceDisablePeerAccess(0));
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    return 0;
}
