/* A block of cudaMalloc is freed twice by cudaFreeAsync. Both calls succeed on a real device, which then hangs or
 * crashes.
 * Kind: double free
 * Fatal: the simulated device stops the program there, with SIM_CHECK=off too */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaFreeAsync(data, a));                      /* one */
    CHECK(cudaFreeAsync(data, a));                      /* other */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
