/* A hold looks at its gate until it is open; then the gate may be freed in another stream, too. */
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
    *gate = 1;
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeAsync(gate, b));                      /* other */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    cudaStreamQuery(a);
    return 0;
}
