/* cudaMemset of managed memory is over when it returns.
 * Prints: 0 */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaMallocManaged((void **)&data, MiB, cudaMemAttachGlobal));
    data[0] = 5;

    CHECK(cudaMemset(data, 0, MiB));
    printf("%d\n", data[0]);
    CHECK(launch_add(data, 1, count, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
