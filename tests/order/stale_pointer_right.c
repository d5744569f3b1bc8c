/* The address of a freed block was given out again. The use is meant for the new block and waits for its allocation. */
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
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(launch_fill(second, 1, count, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(second, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
