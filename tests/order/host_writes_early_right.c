/* The host waits for the copy before it writes the buffer anew: 1 under every pace.
 * Prints: 1 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *buffer, result;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaMallocHost((void **)&buffer, sizeof(int)));
    CHECK(cudaMalloc((void **)&data, sizeof(int)));

    *buffer = 1;
    CHECK(cudaMemcpyAsync(data, buffer, sizeof(int), cudaMemcpyHostToDevice, a));   /* one */
    CHECK(cudaStreamSynchronize(a));
    *buffer = 2;                                        /* other */
    CHECK(cudaMemcpy(&result, data, sizeof result, cudaMemcpyDeviceToHost));
    printf("%d\n", result);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(buffer));
    return 0;
}
