/* The first script of the pool bench (docs/live/scripts.txt), as the bench prints it. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaDeviceSetMemPool(0, pool));
    cudaStream_t s1;
    CHECK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    int *a, *b;

    CHECK(cudaMallocAsync((void **)&a, 64 * MiB, s1));
    CHECK(launch_fill(a, 1, 64 * MiB / sizeof(int), s1));
    CHECK(cudaFreeAsync(a, s1));
    CHECK(cudaMallocAsync((void **)&b, 64 * MiB, s1));
    CHECK(launch_fill(b, 1, 64 * MiB / sizeof(int), s1));
    CHECK(cudaFreeAsync(b, s1));
    CHECK(cudaStreamSynchronize(s1));
    return 0;
}
