/* Writes to 3 GiB of memory. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    cudaDeviceSynchronize();

    size_t bytes = 3UL << 30;
    char *all = malloc(bytes);
    if (!all)
        return 1;
    memset(all, 1, bytes);
    return 0;
}
