/* Stream b copies from a host pool's block, which its device has no access to, so that the copy takes the bytes aside at the call. Stream a, whose device
 * has access, may still be writing them.
 * Kind: read not ordered after a write
 * Says: cudaStreamSynchronize(stream 1) between launch_fill
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
    CHECK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDefault, b)); /* other */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFree(copy));
    return 0;
}
