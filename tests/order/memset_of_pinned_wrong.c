/* cudaMemset waits for pinned memory; cudaMemsetAsync does not.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&data, MiB));

    CHECK(cudaMemsetAsync(data, 0, MiB, 0));            /* one */
    CHECK(launch_add(data, 1, count, a));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(data));
    return 0;
}
