/* A kernel writes all of a pinned buffer.
 *
 * WRONG: it writes one int more.
 * Kind: access outside the allocation */
#include "litmus.h"

int main(void)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, 4096)); /* allocation */
#ifdef WRONG
    CHECK(launch_fill(data, 1, 1025, 0)); /* access */
#else
    CHECK(launch_fill(data, 1, 1024, 0));
#endif
    (void)cudaDeviceSynchronize();
    (void)cudaFreeHost(data);
    return 0;
}
