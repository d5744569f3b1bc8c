/* The host function reads what a copy of another stream writes.
 * Kind: host access not ordered after a write */
#include "kernels.h"
#include "workbook.h"

static int *result, sum;

static void read_it(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < MiB / sizeof(int); i++) sum += result[i];
}

int main(void)
{
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a));           /* one */
    CHECK(cudaLaunchHostFunc(b, read_it, NULL));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
    return sum;
}
