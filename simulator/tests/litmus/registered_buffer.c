/* The host waits for the copy to registered memory before a kernel writes there.
 *
 * WRONG: the host does not wait: no edge from the copy to the kernel's write.
 * Kind: unordered writes */
#include "litmus.h"

static int host[4 * MiB / sizeof(int)];

LITMUS(a, b)
{
    int *data;
    CHECK(cudaHostRegister(host, sizeof host, cudaHostRegisterMapped));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(launch_fill(host, 1, 100, b)); /* access */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaHostUnregister(host));
    CHECK(cudaDeviceSynchronize());
}
