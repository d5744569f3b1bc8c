/* The host waits for an event that was recorded before the writing.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t written;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

    CHECK(cudaEventRecord(written, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaEventSynchronize(written));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
