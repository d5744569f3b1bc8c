/* A cudaMemcpyAsync from pageable memory may wait for its stream, and a large one does; no program may count on that.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

static int source[4 * MiB / sizeof(int)];

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *other;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, sizeof source));

    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaMemcpyAsync(other, source, sizeof source, cudaMemcpyHostToDevice, a));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    return 0;
}
