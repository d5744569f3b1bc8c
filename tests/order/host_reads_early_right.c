/* The host waits for the copy before it reads the buffer: 42 under every pace.
 * Prints: 42 */
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
    CHECK(cudaStreamSynchronize(a));
    printf("%d\n", *result);                            /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
    return 0;
}
