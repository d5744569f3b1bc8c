/* cudaDeviceSynchronize waits for all streams of the current device.
 * Devices: 2
 *
 * WRONG: the other device is current: no edge from the write on device 0 to the one after the wait.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifdef WRONG
    CHECK(cudaSetDevice(1));
#else
    CHECK(cudaSetDevice(0));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
