/* Stream b frees a block, and nothing puts the free after its allocation in stream a.
 * Kind: free before allocation */
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
    CHECK(cudaFreeAsync(data, b));                      /* other */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
