/* A block is freed in another stream while work on it is pending, and its pool destroyed before that work runs.
 * Kind: free before the use ends */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    void *data;
    cudaStream_t a, b;
    cudaMemPool_t pool = pool_create();
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocFromPoolAsync(&data, 64 * MiB, pool, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_hold(gate, a));
    CHECK(cudaMemsetAsync(data, 1, 64 * MiB, a));       /* one */
    CHECK(cudaFreeAsync(data, b));                      /* other */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    gate_open(gate);
    CHECK(cudaStreamSynchronize(a));
    gate_destroy(gate);
    return 0;
}
