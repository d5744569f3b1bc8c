/* Lessons: all. The expected lines, and one harmless CUDA call. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    @print@
    return cudaDeviceSynchronize();
}
