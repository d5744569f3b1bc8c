/* cudaMemset of pinned memory is over when it returns. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&data, MiB));

    CHECK(cudaMemset(data, 0, MiB));
    CHECK(launch_add(data, 1, count, a));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(data));
    return 0;
}
