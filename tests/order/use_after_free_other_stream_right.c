/* Stream b uses a block, and stream a frees it after an event that b records behind the use. */
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
    CHECK(launch_fill(data, 1, count, b));
    CHECK(cudaEventRecord(used, b));
    CHECK(cudaStreamWaitEvent(a, used, 0));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
