/* A copy reads a block after its free. The call is refused (cudaErrorInvalidValue): the program is wrong all the
 * same.
 * Kind: use after free */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *result;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&result, MiB));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a));   /* other */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
    return 0;
}
