/* A block is used after its free, in the same stream. A device notices nothing while the pool keeps the memory.
 * Kind: use after free */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(launch_fill(data, 1, count, a));              /* other */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
