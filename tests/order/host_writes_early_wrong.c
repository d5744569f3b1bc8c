/* The host writes a pinned buffer anew while the copy from it may still be pending. A copy that comes late takes the new
 * value: it prints 2, always under SIM_SCHEDULE=late.
 * Kind: host write not ordered after a read
 * Late: 2 */
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
    *buffer = 2;                                        /* other */
    CHECK(cudaMemcpy(&result, data, sizeof result, cudaMemcpyDeviceToHost));
    printf("%d\n", result);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(buffer));
    return 0;
}
