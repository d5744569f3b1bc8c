/* The event is destroyed before the other stream could wait for it; a new one says nothing.
 * Kind: unordered writes */
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
    CHECK(cudaEventDestroy(event));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaFree(data));
    return 0;
}
