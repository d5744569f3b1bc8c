/* Stream b copies from a host pool's allocation to which its device has no access, so the copy
 * stages the bytes at the call. The host has waited for the write before, and the free need not
 * wait for the copy.
 * Devices: 2
 *
 * WRONG: the host does not wait before the call: no edge from a's write to the copy's read.
 * Kind: read not ordered after a write
 * Says: cudaStreamSynchronize(a) between launch_fill */
#include "litmus.h"

LITMUS(a)
{
    int *data, *copy;
    cudaStream_t b;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeHost};
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 0},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&copy, MiB));

    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDefault, b)); /* access */
#ifdef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFree(copy));
}
