/* The host waits for both. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *first, *second, *source;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocHost((void **)&source, MiB));
    CHECK(cudaMalloc((void **)&first, MiB));
    CHECK(cudaMalloc((void **)&second, MiB));

    CHECK(cudaMemcpyAsync(first, source, MiB, cudaMemcpyHostToDevice, a));
    CHECK(cudaMemcpyAsync(second, source, MiB, cudaMemcpyHostToDevice, b));     /* one */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamSynchronize(a));
    source[0] = 2;                                      /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(first));
    CHECK(cudaFree(second));
    CHECK(cudaFreeHost(source));
    return 0;
}
