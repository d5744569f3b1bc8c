/* The new size is used. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *old, *new;
    CHECK(cudaMalloc((void **)&old, MiB));
    CHECK(cudaFree(old));
    CHECK(cudaMalloc((void **)&new, MiB / 2));          /* one */
    CHECK(launch_fill(new, 1, MiB / 2 / sizeof(int), 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(new));
    return 0;
}
