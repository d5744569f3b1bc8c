/* Two streams write one allocation; their ranges touch.
 *
 * WRONG: the ranges have one byte in common: no edge between the two writes.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    char *data;
    CHECK(cudaMalloc((void **)&data, 1000));

    CHECK(cudaMemsetAsync(data, 1, 500, a)); /* previous access */
#ifdef WRONG
    CHECK(cudaMemsetAsync(data + 499, 2, 501, b)); /* access */
#else
    CHECK(cudaMemsetAsync(data + 500, 2, 500, b));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
