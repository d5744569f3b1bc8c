/* Managed memory is prefetched in one stream while another uses it. */
#include "litmus.h"

int main(void)
{
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocManaged((void **)&data, MiB, cudaMemAttachGlobal));
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b));
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaFree(data));
    return 0;
}
