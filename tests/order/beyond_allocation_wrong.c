/* A kernel writes one int more than was allocated. The memory there is the pool's: a device notices nothing.
 * Kind: access outside the allocation */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));     /* one */
    CHECK(launch_fill(data, 1, count + 1, a));          /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
