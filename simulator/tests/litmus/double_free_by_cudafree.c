/* A pool's allocation is freed by cudaFreeAsync, and not by cudaFree.
 *
 * WRONG: it is freed by cudaFree, too.
 * Kind: double free */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
    CHECK(cudaStreamSynchronize(a));
#ifdef WRONG
    CHECK(cudaFree(data)); /* free */
#endif
}
