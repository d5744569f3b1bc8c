/* A hold looks at its gate until it is open. Here the gate is a block of a host pool, and another stream frees it while the hold goes on.
 * Kind: free before the use ends */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned, .location = { cudaMemLocationTypeHost, 0 } };
    struct cudaMemAccessDesc all = { { cudaMemLocationTypeDevice, 0 }, cudaMemAccessFlagsProtReadWrite };
    int *gate;
    cudaStream_t a, b;
    cudaMemPool_t pool;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAccess(pool, &all, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&gate, MiB, pool, a));
    CHECK(cudaStreamSynchronize(a));
    *gate = 0;
    CHECK(launch_hold(gate, a));                        /* one */
    CHECK(cudaFreeAsync(gate, b));                      /* other */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    cudaStreamQuery(a);
    return 0;
}
