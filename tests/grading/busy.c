/* While a stream is busy, the host allocates and frees 1 MiB, twice: with cudaMalloc and cudaFree,
 * and from a pool. For pictures.bats, which draws its run to scale. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    cudaStream_t busy, stream;
    int *work;
    void *data;
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync((void **)&work, 512 * MiB, busy));
    CHECK(cudaMallocAsync(&data, MiB, stream));
    CHECK(cudaFreeAsync(data, stream));

    CHECK(launch_fill(work, 1, 128 * MiB, busy));
    CHECK(cudaMallocAsync(&data, MiB, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaMalloc(&data, MiB));
    CHECK(cudaFree(data));

    CHECK(cudaFreeAsync(work, busy));
    CHECK(cudaStreamSynchronize(busy));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(busy));
    return 0;
}
