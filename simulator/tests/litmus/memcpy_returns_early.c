/* The host waits for the legacy stream after a cudaMemcpy from pageable memory, before another
 * stream uses the bytes.
 *
 * WRONG: the host does not wait, and the call returns when the bytes have been staged: no edge from
 * the copy to a's write.
 * Kind: unordered writes */
#include "litmus.h"

static int source[MiB / sizeof(int)];

NONBLOCKING_LITMUS(a)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemcpy(data, source, MiB, cudaMemcpyHostToDevice)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(0));
#endif
    CHECK(launch_add(data, 1, count, a)); /* access */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(data));
}
