/* A thousand copies and more into pages of pinned memory, and the host waits before it reads.
 *
 * WRONG: the host does not wait: it reads what the last copy writes.
 * Kind: host access not ordered after a write */
#include "litmus.h"

#define COUNT 1100

LITMUS(stream)
{
    char *pinned, *data;
    CHECK(cudaMallocHost((void **)&pinned, (size_t)COUNT * 8192));
    CHECK(cudaMalloc((void **)&data, 4096));

    for (int i = 0; i < COUNT; i++)
        /* previous access */
        CHECK(cudaMemcpyAsync(pinned + (size_t)i * 8192, data, 4096, cudaMemcpyDefault, stream));
#ifndef WRONG
    CHECK(cudaStreamSynchronize(stream));
#endif
    volatile char last = pinned[(size_t)(COUNT - 1) * 8192]; /* access */
    (void)last;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(data));
}
