/* A block of a host pool is freed behind a hold. The host writes there while the gate is closed: the free has not been reached. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    char *data;
    cudaStream_t a;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .location.type = cudaMemLocationTypeHost};
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_hold(gate, a));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    data[0] = 1;
    data[MiB - 1] = 1;                                  /* other */
    gate_open(gate);
    (void)cudaStreamQuery(a);
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(pool));
    gate_destroy(gate);
    return 0;
}
