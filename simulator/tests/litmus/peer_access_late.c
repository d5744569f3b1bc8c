/* A kernel that needs peer access waits at a gate. The host opens the gate when it has enabled the
 * access.
 * Devices: 2
 *
 * WRONG: the gate is another stream's, so nothing holds the kernel back until the access is
 * enabled.
 * Kind: use before access is given */
#include "litmus.h"

int main(void)
{
    int *data;
    volatile int *gate = gate_create();
    cudaStream_t far, holding;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    CHECK(cudaStreamCreate(&holding));
#ifdef WRONG
    CHECK(launch_hold(gate, holding));
#else
    CHECK(launch_hold(gate, far));
#endif
    CHECK(launch_fill(data, 1, MiB / sizeof(int), far)); /* access */
    (void)cudaDeviceEnablePeerAccess(0, 0);              /* access given */
    gate_open(gate);
    (void)cudaDeviceSynchronize();
    (void)cudaFree(data);
    gate_destroy(gate);
    return 0;
}
