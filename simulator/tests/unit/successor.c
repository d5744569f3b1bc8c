/* A stream is destroyed with a pending free, for which the host then asks. A new stream gets its
 * slot in the simulated device, but not what the old one freed. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *old, *data;
    cudaStream_t a, b;
    cudaEvent_t freed;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&freed));
    CHECK(cudaMallocAsync((void **)&old, MiB, a));
    CHECK(launch_fill(old, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaEventRecord(freed, a));
    CHECK(cudaStreamDestroy(a));
    while (cudaEventQuery(freed) == cudaErrorNotReady)
        continue;
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
