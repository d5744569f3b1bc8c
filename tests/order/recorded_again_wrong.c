/* The event is recorded again in another stream before the wait: the wait is for the newer record.
 * Kind: unordered writes */
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
    CHECK(cudaEventRecord(event, c));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
