/* A stream is synchronized before it is destroyed, and another is created in its slot.
 *
 * WRONG: the host does not wait, and a new stream is not ordered after an old one: no edge between
 * the two writes.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data;
    CHECK(cudaMalloc((void **)&data, 64 * MiB));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamCreate(&a));
    CHECK(launch_add(data, 1, count, a)); /* access */
    CHECK(cudaFree(data));
}
