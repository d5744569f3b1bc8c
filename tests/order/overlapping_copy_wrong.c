/* A copy moves a block's bytes by one int to the right. From and to overlap, which no copy of CUDA allows.
 * Kind: overlapping copy */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaMemcpyAsync(data + 1, data, MiB - sizeof(int), cudaMemcpyDeviceToDevice, a));     /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
