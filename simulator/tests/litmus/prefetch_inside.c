/* The second half of a managed allocation is prefetched in one stream while a kernel of another
 * fills all of it. A prefetch touches no bytes.
 *
 * WRONG: the first stream writes one byte in the middle.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    char *data;
    CHECK(cudaMallocManaged((void **)&data, MiB, cudaMemAttachGlobal));
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
#ifdef WRONG
    CHECK(cudaMemsetAsync(data + MiB / 2, 0, 1, a)); /* previous access */
#endif
    CHECK(cudaMemPrefetchAsync(data + MiB / 2, MiB / 2, here, 0, a));
    CHECK(launch_fill((int *)data, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaMemPrefetchAsync(data + MiB / 4, MiB / 2, here, 0, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
