/* Reserves 200 GiB of addresses and sleeps. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    if (!calloc(100, 1UL << 30))
        return 1;
    mmap(NULL, 100UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
         0);
    pause();
    return 0;
}
