/* A pool's allocation is freed once.
 *
 * WRONG: it is freed twice. The second call returns cudaErrorInvalidValue, or frees the memory of a
 * new owner.
 * Kind: double free */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(cudaFreeAsync(data, a)); /* free */
#endif
    CHECK(cudaStreamSynchronize(a));
}
