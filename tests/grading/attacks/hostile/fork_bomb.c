/* Makes processes without end. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    for (;;)
        fork();
    return 0;
}
