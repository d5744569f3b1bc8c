/* Stream a frees a block while stream b may still be using it: a does not wait for b.
 * Kind: free before the use ends */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t allocated, used;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&allocated));
    CHECK(cudaEventCreate(&used));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaEventRecord(allocated, a));
    CHECK(cudaStreamWaitEvent(b, allocated, 0));
    CHECK(launch_fill(data, 1, count, b));              /* one */
    CHECK(cudaEventRecord(used, b));
    CHECK(cudaFreeAsync(data, a));                      /* other */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
