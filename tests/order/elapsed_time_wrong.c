/* The elapsed time is asked once, and the answer is that it is not known yet.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    float ms;
    cudaStream_t a, b;
    cudaEvent_t before, after;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));

    CHECK(cudaMallocAsync((void **)&data, 64 * MiB, a));
    CHECK(cudaEventRecord(before, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaEventRecord(after, a));
    (void)cudaEventElapsedTime(&ms, before, before);
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
