/* Prints the name of the error that a GPU's driver answers with, or nothing (on_gpu.sh). */
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    int count;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error)
        puts(cudaGetErrorName(error));
    return 0;
}
