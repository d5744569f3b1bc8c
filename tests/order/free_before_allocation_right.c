/* Stream b frees a block after an event that stream a records behind the allocation. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a, b;
    cudaEvent_t allocated;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&allocated));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));     /* one */
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(cudaFreeAsync(data, b));                      /* other */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
