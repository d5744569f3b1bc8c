/* cudaMemset of pinned memory is over when it returns.
 *
 * WRONG: cudaMemsetAsync is not: no edge from it to a's write.
 * Kind: unordered writes */
#include "litmus.h"

NONBLOCKING_LITMUS(a)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, MiB));

#ifdef WRONG
    CHECK(cudaMemsetAsync(data, 0, MiB, 0)); /* previous access */
#else
    CHECK(cudaMemset(data, 0, MiB));
#endif
    CHECK(launch_add(data, 1, count, a)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(data));
}
