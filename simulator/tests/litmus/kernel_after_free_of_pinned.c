/* A kernel writes pinned memory before that is freed.
 *
 * WRONG: the kernel is launched after the free.
 * Kind: use after free */
#include "litmus.h"

LITMUS(a)
{
    int *host;
    CHECK(cudaMallocHost((void **)&host, MiB));

#ifndef WRONG
    CHECK(launch_fill(host, 1, 4, a));
#endif
    CHECK(cudaFreeHost(host)); /* free */
#ifdef WRONG
    (void)launch_fill(host, 1, 4, a); /* access */
#endif
    (void)cudaStreamSynchronize(a);
}
