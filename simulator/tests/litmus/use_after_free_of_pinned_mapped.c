/* A memset and a kernel write pinned memory. Then that is freed, and the host maps memory of its
 * own at the same address.
 *
 * WRONG: the two come after that. On memory of the host that is not pinned they are no better.
 * Kind: use after free */
#include "litmus.h"

#include <sys/mman.h>

static void write_to(int *data, cudaStream_t a)
{
    (void)cudaMemsetAsync(data, 1, 4096, a); /* access */
    (void)launch_fill(data, 1, 1024, a);     /* access */
}

LITMUS(a)
{
    int *pinned;
    CHECK(cudaMallocHost((void **)&pinned, MiB));
#ifndef WRONG
    write_to(pinned, a);
#endif
    CHECK(cudaFreeHost(pinned)); /* free */
    mmap(pinned, MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
         0);
#ifdef WRONG
    write_to(pinned, a);
#endif
    (void)cudaStreamSynchronize(a);
}
