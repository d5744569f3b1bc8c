/* cudaMemcpy from pinned memory returns when the copy is over. */
#include "litmus.h"

NONBLOCKING_LITMUS(a)
{
    int *data, *source;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMallocHost((void **)&source, MiB));

    CHECK(cudaMemcpy(data, source, MiB, cudaMemcpyHostToDevice));
    CHECK(launch_add(data, 1, count, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(source));
}
