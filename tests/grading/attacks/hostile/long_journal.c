/* A journal of 60 MB, of honest calls. */
#include <cuda_runtime_api.h>

int main(void)
{
    size_t a, b;
    for (int i = 0; i < 480000; i++)
        cudaMemGetInfo(&a, &b);
    return cudaDeviceSynchronize();
}
