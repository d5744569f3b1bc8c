/* cudaMalloc returns the address of freed memory for a smaller allocation. The new size is used.
 *
 * WRONG: the old pointer is used, with the old size.
 * Kind: access outside the allocation */
#include "litmus.h"

int main(void)
{
    int *old, *newer;
    CHECK(cudaMalloc((void **)&old, MiB));
    CHECK(cudaFree(old));
    CHECK(cudaMalloc((void **)&newer, MiB / 2)); /* allocation */
#ifdef WRONG
    CHECK(launch_fill(old, 1, MiB / sizeof(int), 0)); /* access */
#else
    CHECK(launch_fill(newer, 1, MiB / 2 / sizeof(int), 0));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(newer));
    return 0;
}
