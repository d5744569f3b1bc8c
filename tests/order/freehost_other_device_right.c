/* cudaFreeHost waits for the streams of another device that use the memory, too.
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    char *data, *pinned;
    cudaStream_t stream;
    CHECK(cudaMallocHost((void **)&pinned, MiB));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void **)&data, MiB));
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemcpyAsync(data, pinned, MiB, cudaMemcpyHostToDevice, stream));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(data));
    return 0;
}
