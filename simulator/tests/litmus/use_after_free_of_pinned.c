/* A copy to pinned memory comes before its free.
 *
 * WRONG: the copy comes after the free.
 * Kind: use after free
 * Fatal: nothing is at that address any more, and a copy touches it: SIGSEGV, as on a device */
#include "litmus.h"

LITMUS(a)
{
    int *data, *host;
    CHECK(cudaMallocHost((void **)&host, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

#ifndef WRONG
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a));
#endif
    CHECK(cudaFreeHost(host)); /* free */
#ifdef WRONG
    (void)cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a); /* access */
#endif
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
}
