/* The host waits for the copy before it reads the buffer.
 * Prints: 42
 *
 * WRONG: the host does not wait: no edge from the copy to the host's read. A copy that comes late
 * has not changed the buffer yet.
 * Kind: host access not ordered after a write
 * Late: 0 */
#include "litmus.h"

LITMUS(a)
{
    int *data, *result;
    CHECK(cudaMallocHost((void **)&result, sizeof(int)));
    *result = 0;

    CHECK(cudaMallocAsync((void **)&data, sizeof(int), a));
    CHECK(launch_fill(data, 42, 1, a));
    /* previous access */
    CHECK(cudaMemcpyAsync(result, data, sizeof(int), cudaMemcpyDeviceToHost, a));
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    printf("%d\n", *result); /* access */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
}
