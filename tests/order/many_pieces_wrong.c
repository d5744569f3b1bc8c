/* Stream b writes the first of 64 pieces that stream a has written, one by one; nothing orders that, also when a is done.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = 1024;
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, 64 * count * sizeof(int)));

    for (size_t i = 0; i < 64; i++)
        CHECK(launch_fill(data + i * count, 1, count, a));      /* one */
    CHECK(cudaStreamSynchronize(b));
    CHECK(launch_add(data, 1, count, b));                       /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
