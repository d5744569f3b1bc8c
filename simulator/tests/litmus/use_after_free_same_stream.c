/* An allocation is used before its free, in the same stream.
 *
 * WRONG: it is used after the free. A device notices nothing while the pool keeps the memory.
 * Kind: use after free */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
#ifndef WRONG
    CHECK(launch_fill(data, 1, count, a));
#endif
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(launch_fill(data, 1, count, a)); /* access */
#endif
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
