/* cudaMemcpyAsync to pinned memory does not wait, so stream b writes what it may still be reading.
 * Kind: write not ordered after a read */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *result;
    cudaStream_t b;
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, 0));   /* one */
    CHECK(launch_fill(data, 1, count, b));              /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    return 0;
}
