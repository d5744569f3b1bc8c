/* A kernel on device 1 uses a block of device 0. Access is granted, but nothing orders it after the writing there.
 * Kind: unordered writes
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t written;
    cudaMemPool_t pool;
    struct cudaMemAccessDesc grant = {.location = {.type = cudaMemLocationTypeDevice, .id = 1}, .flags = cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAccess(pool, &grant, 1));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaSetDevice(0));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaEventRecord(written, a));
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
