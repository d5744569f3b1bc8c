/* A host pool's allocation is freed behind a gate. The host writes there while the gate is closed:
 * the free has not been reached.
 *
 * WRONG: the host writes when the gate is open.
 * Kind: host access after free */
#include "litmus.h"

LITMUS(a)
{
    char *data;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeHost};
    volatile int *gate = gate_create();
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_hold(gate, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
    data[0] = 1;
#ifndef WRONG
    data[MiB - 1] = 1;
#endif
    gate_open(gate);
    (void)cudaStreamQuery(a);
#ifdef WRONG
    data[MiB - 1] = 1; /* access */
#endif
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(pool));
    gate_destroy(gate);
}
