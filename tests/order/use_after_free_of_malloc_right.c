/* A block of cudaMalloc is used, then freed by cudaFreeAsync in the same stream. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(launch_add(data, 1, count, a));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
