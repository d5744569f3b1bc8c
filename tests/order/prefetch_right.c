/* The prefetch is in the stream of the kernel. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a, b;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypeManaged;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));           /* one */
    struct cudaMemLocation here = { .type = cudaMemLocationTypeDevice, .id = 0 };
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, a));
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
