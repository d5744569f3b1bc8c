/* A kernel writes pinned memory before that is freed. Then a host function runs, for which the
 * simulated device maps a stack of its own.
 *
 * WRONG: the kernel is launched after both. The stack must not have got the address.
 * Kind: use after free */
#include "litmus.h"

#define BYTES (12 * MiB)

static void CUDART_CB nothing(void *unused) { (void)unused; }

LITMUS(stream)
{
    char *pinned;
    CHECK(cudaMallocHost((void **)&pinned, BYTES));
    int *last = (int *)(pinned + BYTES - 4096);

#ifndef WRONG
    CHECK(launch_fill(last, 1, 1024, stream));
#endif
    CHECK(cudaFreeHost(pinned)); /* free */
    CHECK(cudaLaunchHostFunc(stream, nothing, NULL));
    CHECK(cudaStreamSynchronize(stream));
#ifdef WRONG
    (void)launch_fill(last, 1, 1024, stream); /* access */
#endif
    (void)cudaStreamSynchronize(stream);
}
