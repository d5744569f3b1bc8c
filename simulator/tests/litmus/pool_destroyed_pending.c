/* A pool is destroyed while work on its allocation is pending, and the free comes after that work.
 *
 * WRONG: the free is in another stream, before the work: no edge from the memset to the free.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    void *data;
    cudaMemPool_t pool = pool_create();
    volatile int *gate = gate_create();
    CHECK(cudaMallocFromPoolAsync(&data, 64 * MiB, pool, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_hold(gate, a));
    CHECK(cudaMemsetAsync(data, 1, 64 * MiB, a)); /* access */
#ifdef WRONG
    CHECK(cudaFreeAsync(data, b)); /* free */
#else
    CHECK(cudaFreeAsync(data, a));
#endif
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    gate_open(gate);
    CHECK(cudaStreamSynchronize(a));
    gate_destroy(gate);
}
