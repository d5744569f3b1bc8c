/* Prints to stderr without end. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    cudaDeviceSynchronize();

    for (;;)
        fputs("the same line again and again\n", stderr);
    return 0;
}
