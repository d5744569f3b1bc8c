/* The host waits for the kernel on a pool's allocation before it calls cudaFree.
 *
 * WRONG: the host does not wait, and for a pool's allocation cudaFree waits for nothing: no edge
 * from the kernel.
 * Kind: free before the use ends */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a)); /* access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaFree(data)); /* free */
    CHECK(cudaStreamSynchronize(a));
}
