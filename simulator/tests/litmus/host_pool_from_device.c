/* A copy from the device to a host pool's allocation is over when cudaMemcpy returns.
 * Prints: 3 */
#include "litmus.h"

NONBLOCKING_LITMUS(a)
{
    int *from, *to;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeHost;
    CHECK(cudaMemPoolCreate(&pool, &props));
    struct cudaMemAccessDesc desc = {.location = {.type = cudaMemLocationTypeDevice, .id = 0},
                                     .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &desc, 1));
    CHECK(cudaMallocAsync((void **)&from, MiB, a));
    CHECK(cudaMallocFromPoolAsync((void **)&to, MiB, pool, a));
    CHECK(launch_fill(from, 3, MiB / sizeof(int), a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemcpy(to, from, MiB, cudaMemcpyDeviceToHost));
    printf("%d\n", to[0]);
    CHECK(launch_fill(to, 0, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(from, a));
    CHECK(cudaFreeAsync(to, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(pool));
}
