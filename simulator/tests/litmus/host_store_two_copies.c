/* Two streams copy from one pinned buffer. The host waits for both before it writes the buffer.
 *
 * WRONG: the host waits for one of them: no edge from b's copy to the host's write.
 * Kind: host write not ordered after a read */
#include "litmus.h"

LITMUS(a, b)
{
    int *first, *second, *source;
    CHECK(cudaMallocHost((void **)&source, MiB));
    CHECK(cudaMalloc((void **)&first, MiB));
    CHECK(cudaMalloc((void **)&second, MiB));

    CHECK(cudaMemcpyAsync(first, source, MiB, cudaMemcpyHostToDevice, a));
    CHECK(cudaMemcpyAsync(second, source, MiB, cudaMemcpyHostToDevice, b)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(b));
#endif
    CHECK(cudaStreamSynchronize(a));
    source[0] = 2; /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(first));
    CHECK(cudaFree(second));
    CHECK(cudaFreeHost(source));
}
