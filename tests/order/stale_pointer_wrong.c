/* The address of a freed block was given out again. The use is meant for the old block and hits the new one.
 * Kind: use before allocation */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *first, *second;
    cudaStream_t a, b;
    cudaEvent_t allocated;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&allocated));

    CHECK(cudaMallocAsync((void **)&first, MiB, a));
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaMallocAsync((void **)&second, MiB, a));   /* one */
    CHECK(launch_fill(first, 1, count, b));             /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(second, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
