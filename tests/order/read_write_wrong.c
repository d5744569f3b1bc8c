/* Stream b writes a block that a copy in stream a may still be reading.
 * Kind: write not ordered after a read */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *result;
    cudaStream_t a, b;
    cudaEvent_t copied;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a));   /* one */
    CHECK(cudaEventRecord(copied, a));
    CHECK(launch_fill(data, 1, count, b));              /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    return 0;
}
