/* A blocking stream writes, then the legacy stream, then another blocking stream: each waits.
 *
 * WRONG: the first stream is a non-blocking one, for which the legacy stream does not wait: no edge
 * from its write.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
#ifdef WRONG
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
#else
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamDefault));
#endif
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a));               /* previous access */
    CHECK(launch_add(data, 1, count, cudaStreamLegacy)); /* access */
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
