/* Managed memory is prefetched in one stream while another uses it. */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMallocManaged((void **)&data, MiB, cudaMemAttachGlobal));
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b));
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaFree(data));
}
