/* The host waits for the kernel on a pool's allocation before it calls cudaFree.
 *
 * WRONG: the host does not wait, and for a pool's allocation cudaFree waits for nothing: no edge
 * from the kernel.
 * Kind: free before the use ends */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a)); /* access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaFree(data)); /* free */
    CHECK(cudaStreamSynchronize(a));
    return 0;
}
