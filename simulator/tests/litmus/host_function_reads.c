/* A host function reads what a copy before it, in its own stream, has written.
 *
 * WRONG: the host function is in another stream: no edge from the copy to its read.
 * Kind: host access not ordered after a write */
#include "litmus.h"

static int *result, sum;

static void read_it(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < MiB / sizeof(int); i++)
        sum += result[i];
}

int main(void)
{
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
#ifdef WRONG
    CHECK(cudaLaunchHostFunc(b, read_it, NULL));
#else
    CHECK(cudaLaunchHostFunc(a, read_it, NULL));
#endif
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
    return sum;
}
