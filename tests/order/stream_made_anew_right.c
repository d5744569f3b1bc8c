/* The old stream is synchronised before it is destroyed. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMalloc((void **)&data, 64 * MiB));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamCreate(&a));
    CHECK(launch_add(data, 1, count, a));               /* other */
    CHECK(cudaFree(data));
    return 0;
}
