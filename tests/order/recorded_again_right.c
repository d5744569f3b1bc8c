/* The wait comes between the two records, so it is for the first. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b, c;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaStreamCreate(&c));
    CHECK(cudaEventCreate(&event));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaEventRecord(event, c));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
