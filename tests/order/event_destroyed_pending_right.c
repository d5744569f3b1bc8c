/* The event is destroyed after the wait was queued; the wait holds. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc((void **)&data, 64 * MiB));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaEventDestroy(event));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaFree(data));
    return 0;
}
