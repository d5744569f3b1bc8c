/* Stream a frees a block after it has waited for the use in stream b. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t allocated, used;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&allocated));
    CHECK(cudaEventCreate(&used));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(launch_fill(data, 1, count, b));              /* one */
    CHECK(cudaEventRecord(used, b));
    CHECK(cudaStreamWaitEvent(a, used, 0));
    CHECK(cudaFreeAsync(data, a));                      /* other */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
