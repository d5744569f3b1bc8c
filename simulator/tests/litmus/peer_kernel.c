/* A kernel on device 1 writes an allocation of device 0, to which it has access, after an event of
 * device 0's stream.
 * Devices: 2
 *
 * WRONG: the kernel's stream does not wait: no edge from the write on device 0 to it.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    cudaStream_t b;
    cudaEvent_t written;
    cudaMemPool_t pool;
    struct cudaMemAccessDesc grant = {.location = {.type = cudaMemLocationTypeDevice, .id = 1},
                                      .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaEventCreate(&written));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAccess(pool, &grant, 1));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaSetDevice(0));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(written, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
