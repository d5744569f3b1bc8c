/* A copy between host pools is over when cudaMemcpy returns.
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
    CHECK(cudaMallocFromPoolAsync((void **)&from, MiB, pool, a));
    CHECK(cudaMallocFromPoolAsync((void **)&to, MiB, pool, a));
    CHECK(cudaStreamSynchronize(a));
    from[0] = 3;
    CHECK(cudaMemcpy(to, from, MiB, cudaMemcpyHostToHost));
    printf("%d\n", to[0]);
    CHECK(cudaMemsetAsync(to, 0, MiB, a));
    CHECK(cudaFreeAsync(from, a));
    CHECK(cudaFreeAsync(to, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(pool));
}
