/* Stream a's fill waits behind a gate. Stream b's copy reads the same bytes of a host pool, to
 * which its device has no access, during its call: before the host opens the gate.
 * Devices: 2
 *
 * WRONG: the gate is open.
 * Kind: read not ordered after a write */
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
    volatile int *gate = gate_create();
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&copy, MiB));
    CHECK(cudaStreamSynchronize(a));

    CHECK(launch_hold(gate, a));
#ifdef WRONG
    gate_open(gate);
#endif
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));             /* previous access */
    CHECK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDefault, b)); /* access */
    gate_open(gate);
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFree(copy));
    gate_destroy(gate);
}
