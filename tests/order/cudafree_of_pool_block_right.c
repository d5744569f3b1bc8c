/* cudaFree of a pool's block after the host has waited for the work on it. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(data));                              /* other */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
