/* cudaMemcpy from device to device returns before the copy is over. Stream b does not wait for it.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *from, *to;
    cudaStream_t b;
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(cudaMalloc((void **)&to, MiB));

    CHECK(cudaMemcpy(to, from, MiB, cudaMemcpyDeviceToDevice));         /* one */
    CHECK(launch_add(to, 1, count, b));                 /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return 0;
}
