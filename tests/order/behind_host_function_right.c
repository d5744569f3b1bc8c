/* Stream b waits for an event behind the host function. */
#include "kernels.h"
#include "workbook.h"

static void nothing(void *unused) { (void)unused; }

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
