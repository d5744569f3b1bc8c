/* Writes to 3 GiB of memory that belongs to no process alone. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    cudaDeviceSynchronize();

    size_t bytes = 3UL << 30;
    char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return 1;
    memset(all, 1, bytes);
    return 0;
}
