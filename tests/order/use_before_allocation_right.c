/* Stream b uses a block that stream a allocates, after an event that a records behind the allocation. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t allocated;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&allocated));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));     /* one */
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(launch_fill(data, 1, count, b));              /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
