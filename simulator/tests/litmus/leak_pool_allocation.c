/* A pool's allocation is freed before the program ends.
 *
 * WRONG: it is never freed.
 * Kind: leak */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
#ifndef WRONG
    CHECK(cudaFreeAsync(data, a));
#endif
    CHECK(cudaStreamSynchronize(a));
}
