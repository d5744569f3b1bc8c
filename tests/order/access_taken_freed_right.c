/* Device 1 frees a block behind its own last use of it; the host waits for that, and then takes the access away.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t near, far;
    cudaEvent_t over;
    cudaMemPool_t pool = pool_create();
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 1}, .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaStreamCreate(&near));
    CHECK(cudaMallocFromPoolAsync((void **)&data, 64 * MiB, pool, near));
    CHECK(cudaStreamSynchronize(near));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&far));
    CHECK(cudaEventCreate(&over));
    CHECK(cudaMemsetAsync(data, 1, 64 * MiB, far));
    CHECK(cudaFreeAsync(data, far));
    CHECK(cudaEventRecord(over, far));
    CHECK(cudaEventSynchronize(over));
    access.flags = cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    cudaStreamSynchronize(far);
    cudaStreamSynchronize(near);
    cudaMemPoolDestroy(pool);
    return 0;
}
