/* A kernel writes past the end of pinned memory.
 * Kind: access outside the allocation */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, 4096));        /* one */
    CHECK(launch_fill(data, 1, 1025, 0));               /* other */
    (void)cudaDeviceSynchronize();
    (void)cudaFreeHost(data);
    return 0;
}
