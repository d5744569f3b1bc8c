/* The pool is full, so the allocator makes stream b wait for a's free. Stream b writes what it was
 * given.
 *
 * WRONG: b writes another allocation, counting on the allocator's wait, which orders nothing for
 * the program: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    size_t bytes = 32 * MiB, count = bytes / sizeof(int);
    int *other, *freed, *data;
    cudaMemPool_t pool;
    CHECK(cudaMalloc((void **)&other, bytes));
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = bytes;
    CHECK(cudaMemPoolCreate(&pool, &props));

    CHECK(launch_fill(other, 1, count, a)); /* previous access */
    CHECK(cudaMallocFromPoolAsync((void **)&freed, bytes, pool, a));
    CHECK(cudaFreeAsync(freed, a));
    CHECK(cudaMallocFromPoolAsync((void **)&data, bytes, pool, b));
    CHECK(launch_fill(data, 2, count, b));
#ifdef WRONG
    CHECK(launch_add(other, 1, count, b)); /* access */
#else
    CHECK(launch_add(data, 1, count, b));
#endif
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(other));
    CHECK(cudaMemPoolDestroy(pool));
}
