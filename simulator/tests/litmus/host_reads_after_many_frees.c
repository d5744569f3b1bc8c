/* A thousand and more allocations that host and device share are freed. Then the host reads pinned
 * memory after a copy to it.
 *
 * WRONG: it reads while the copy may still be writing.
 * Kind: host access not ordered after a write */
#include "litmus.h"

#define COUNT 1100

LITMUS(stream)
{
    void *managed[COUNT];
    char *pinned, *data;
    for (int i = 0; i < COUNT; i++)
        CHECK(cudaMallocManaged(&managed[i], 4096, cudaMemAttachGlobal));
    for (int i = 0; i < COUNT; i++)
        CHECK(cudaFree(managed[i]));
    CHECK(cudaMallocHost((void **)&pinned, 8192));
    CHECK(cudaMalloc((void **)&data, 8192));

    CHECK(cudaMemcpyAsync(pinned, data, 8192, cudaMemcpyDefault, stream)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(stream));
#endif
    volatile char read = pinned[5000]; /* access */
    (void)read;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(data));
}
