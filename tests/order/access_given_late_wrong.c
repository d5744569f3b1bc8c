/* Device 1 is given access to a pool when a kernel that needs it has been queued there: nothing holds the kernel back until then.
 * Kind: use before access is given
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t near, far;
    cudaMemPool_t pool = pool_create();
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 1}, .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaStreamCreate(&near));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, near));
    CHECK(cudaStreamSynchronize(near));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), far)); /* one */
    (void)cudaMemPoolSetAccess(pool, &access, 1);        /* other */
    (void)cudaStreamSynchronize(far);
    (void)cudaFreeAsync(data, near);
    (void)cudaStreamSynchronize(near);
    (void)cudaMemPoolDestroy(pool);
    return 0;
}
