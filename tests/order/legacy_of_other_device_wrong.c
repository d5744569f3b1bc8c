/* The legacy stream of device 1 does not wait for a stream of device 0.
 * Kind: unordered writes
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(data, 1, count, 0));               /* other */
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(data));
    return 0;
}
