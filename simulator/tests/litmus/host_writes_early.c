/* The host waits for the copy before it writes the buffer again.
 * Prints: 1
 *
 * WRONG: the host does not wait: no edge from the copy's read to the host's write. A copy that
 * comes late takes the new value.
 * Kind: host write not ordered after a read
 * Late: 2 */
#include "litmus.h"

LITMUS(a)
{
    int *data, *buffer, result;
    CHECK(cudaMallocHost((void **)&buffer, sizeof(int)));
    CHECK(cudaMalloc((void **)&data, sizeof(int)));

    *buffer = 1;
    /* previous access */
    CHECK(cudaMemcpyAsync(data, buffer, sizeof(int), cudaMemcpyHostToDevice, a));
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    *buffer = 2; /* access */
    CHECK(cudaMemcpy(&result, data, sizeof result, cudaMemcpyDeviceToHost));
    printf("%d\n", result);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(buffer));
}
