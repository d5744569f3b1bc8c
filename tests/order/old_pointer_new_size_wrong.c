/* cudaMalloc gives a freed block's address out again for a smaller one; the old size is used.
 * Kind: access outside the allocation */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *old, *new;
    CHECK(cudaMalloc((void **)&old, MiB));
    CHECK(cudaFree(old));
    CHECK(cudaMalloc((void **)&new, MiB / 2));          /* one */
    CHECK(launch_fill(old, 1, MiB / sizeof(int), 0));   /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(new));
    return 0;
}
