/* Device 1 gives up its access to device 0's memory while a kernel there may still be using it: cudaDeviceDisablePeerAccess is not said to wait.
 * Kind: access taken before the use ends
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
    CHECK(launch_add(data, 1, MiB / sizeof(int), far)); /* one */
    CHECK(cudaDeviceDisablePeerAccess(0));              /* other */
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    return 0;
}
