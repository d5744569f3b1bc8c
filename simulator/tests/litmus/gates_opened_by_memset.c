/* Two gates in one piece of pinned memory are opened by one memset in a third stream. A hold need
 * not be ordered with what opens its gate.
 *
 * WRONG: behind its gate, the second stream writes there too: no edge from the memset to it.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b, c)
{
    int *gates;
    CHECK(cudaMallocHost((void **)&gates, 4096));
    gates[0] = gates[1] = 0;
    CHECK(launch_hold(&gates[0], a));
    CHECK(launch_hold(&gates[1], b));
    CHECK(cudaMemsetAsync(gates, 1, 2 * sizeof(int), c)); /* previous access */
#ifdef WRONG
    CHECK(launch_fill(&gates[1], 1, 1, b)); /* access */
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(gates));
}
