/* The host queries stream a until the answer is cudaSuccess, which is as good as waiting.
 *
 * WRONG: the host queries stream b: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifdef WRONG
    while (cudaStreamQuery(b) == cudaErrorNotReady)
        ;
#else
    while (cudaStreamQuery(a) == cudaErrorNotReady)
        ;
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
