/* The host waits for stream a. What it queues then, in any stream, happens after a's work.
 *
 * WRONG: the host waits for stream b, which has nothing to do: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifdef WRONG
    CHECK(cudaStreamSynchronize(b));
#else
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
