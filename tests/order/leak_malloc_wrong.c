/* A block of cudaMalloc is never freed.
 * Kind: leak */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));             /* one */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), 0));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
