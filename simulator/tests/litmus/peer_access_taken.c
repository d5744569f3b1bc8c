/* The kernel on device 1 is over before the host disables that device's access to device 0.
 * Devices: 2
 *
 * WRONG: the host does not wait, and cudaDeviceDisablePeerAccess is not documented to: no edge from
 * the kernel to it.
 * Kind: access taken before the use ends */
#include "litmus.h"

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
    CHECK(launch_add(data, 1, MiB / sizeof(int), far)); /* access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(far));
#endif
    CHECK(cudaDeviceDisablePeerAccess(0)); /* access taken */
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    return 0;
}
