/* The per-thread default stream writes, and the legacy stream goes on: it waits for the per-thread stream. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, cudaStreamPerThread));    /* one */
    CHECK(launch_add(data, 1, count, cudaStreamLegacy));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
