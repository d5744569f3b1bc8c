/* cudaMemcpy works in the legacy stream: it waits for the write in blocking stream a, and the host
 * for it. Then stream b, which is non-blocking, may write. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, first;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
    CHECK(launch_add(data, first, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
