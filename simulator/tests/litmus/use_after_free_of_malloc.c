/* Memory of cudaMalloc is used, then freed by cudaFreeAsync in the same stream.
 *
 * WRONG: it is used after the free.
 * Kind: use after free */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a));
#ifndef WRONG
    CHECK(launch_add(data, 1, count, a));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(launch_add(data, 1, count, a)); /* access */
#endif
    CHECK(cudaStreamSynchronize(a));
}
