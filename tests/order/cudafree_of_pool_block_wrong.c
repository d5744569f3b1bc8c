/* cudaFree of a pool's block while work on it is pending. For such a block it waits for nothing.
 * Kind: free before the use ends */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaFree(data));                              /* other */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
