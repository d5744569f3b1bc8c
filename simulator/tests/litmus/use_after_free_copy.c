/* A copy reads an allocation before its free.
 *
 * WRONG: the copy is queued after the free. The call is refused (cudaErrorInvalidValue); the
 * program is incorrect all the same.
 * Kind: use after free */
#include "litmus.h"

LITMUS(a)
{
    int *data, *result;
    CHECK(cudaMallocHost((void **)&result, MiB));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
#ifndef WRONG
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* access */
#endif
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
}
