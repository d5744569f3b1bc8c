/* Peer access is enabled when a kernel that needs it has been queued, behind a hold whose gate the host opens only then.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    volatile int *gate = gate_create();
    cudaStream_t far, holding;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    CHECK(cudaStreamCreate(&holding));
    CHECK(launch_hold(gate, far));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), far)); /* one */
    (void)cudaDeviceEnablePeerAccess(0, 0);              /* other */
    gate_open(gate);
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    gate_destroy(gate);
    return 0;
}
