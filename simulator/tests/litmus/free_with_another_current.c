/* cudaFree and cudaFreeHost wait for the GPU that the memory belongs to, even when another is
 * current.
 * Devices: 2 */
#include "litmus.h"

LITMUS(stream)
{
    char *data, *pinned;
    CHECK(cudaMallocHost((void **)&pinned, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemcpyAsync(data, pinned, MiB, cudaMemcpyHostToDevice, stream));
    CHECK(cudaSetDevice(1));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaSetDevice(0));
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemsetAsync(data, i, MiB, stream));
    CHECK(cudaSetDevice(1));
    CHECK(cudaFree(data));
}
