/* A block is freed in stream b, which does not wait for its last use in stream a.
 * Kind: free before the use ends */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t used;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&used));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaEventRecord(used, a));
    CHECK(cudaFreeAsync(data, b));                      /* other */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
