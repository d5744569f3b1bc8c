/* Two streams write one allocation; their ranges touch.
 *
 * WRONG: the ranges have one byte in common: no edge between the two writes.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    char *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, 1000));

    CHECK(cudaMemsetAsync(data, 1, 500, a)); /* previous access */
#ifdef WRONG
    CHECK(cudaMemsetAsync(data + 499, 2, 501, b)); /* access */
#else
    CHECK(cudaMemsetAsync(data + 500, 2, 500, b));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
