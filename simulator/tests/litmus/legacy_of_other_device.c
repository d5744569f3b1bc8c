/* The legacy stream of device 0 waits for that device's blocking streams.
 * Devices: 2
 *
 * WRONG: the legacy stream is that of device 1, which does not wait for device 0: no edge from a's
 * write to it.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifdef WRONG
    CHECK(cudaSetDevice(1));
#endif
    CHECK(launch_add(data, 1, count, 0)); /* access */
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(data));
}
