/* cudaMemset of pinned memory is over when it returns.
 *
 * WRONG: cudaMemsetAsync is not: no edge from it to a's write.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&data, MiB));

#ifdef WRONG
    CHECK(cudaMemsetAsync(data, 0, MiB, 0)); /* previous access */
#else
    CHECK(cudaMemset(data, 0, MiB));
#endif
    CHECK(launch_add(data, 1, count, a)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(data));
    return 0;
}
