/* Stream a is synchronised and destroyed. Stream b comes after its work, and uses its memory again. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaStreamSynchronize(a));

    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamDestroy(a));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
