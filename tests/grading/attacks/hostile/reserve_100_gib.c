/* Reserves 200 GiB of addresses and sleeps. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    if (!malloc(100UL << 30))
        puts("100 GiB were refused");
    mmap(NULL, 100UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
         0);
    pause();
    return 0;
}
