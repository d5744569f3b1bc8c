/* The host reads a pinned buffer before the copy to it is over. A copy that comes late has not changed the buffer: it
 * prints 0, always under SIM_SCHEDULE=late.
 * Kind: host access not ordered after a write
 * Late: 0 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *result;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&result, sizeof(int)));
    *result = 0;

    CHECK(cudaMallocAsync((void **)&data, sizeof(int), a));
    CHECK(launch_fill(data, 42, 1, a));
    CHECK(cudaMemcpyAsync(result, data, sizeof(int), cudaMemcpyDeviceToHost, a));   /* one */
    printf("%d\n", *result);                            /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
    return 0;
}
