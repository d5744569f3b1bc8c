/* The host has waited for the writing before a copy takes the bytes aside, and the block is freed behind nothing: the copy needs it no more.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *copy;
    cudaStream_t a, b;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .location.type = cudaMemLocationTypeHost};
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 0}, .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&copy, MiB));

    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));  /* one */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDefault, b)); /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFree(copy));
    return 0;
}
