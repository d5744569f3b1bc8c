/* Memory that the pool gives away again: what orders its new owner after the old one. */
#include "litmus.h"

/* A stream allocates what it has just freed while the work before the free is pending. Stream order
 * is enough. */
LITMUS(reuse_same_stream, a)
{
    int *data;
    volatile int *gate = gate_new();

    CHECK(launch_hold(gate, a));
    for (int i = 0; i < 4; i++) {
        CHECK(cudaMallocAsync((void **)&data, MiB, a));
        CHECK(launch_fill(data, i, count, a));
        CHECK(cudaFreeAsync(data, a));
    }
    gate_open(gate);
}

/* Stream b gets the memory that stream a has freed: it waits for an event that a recorded after the
 * free. */
LITMUS(reuse_by_event, a, b)
{
    int *data;
    volatile int *gate = gate_new();

    CHECK(launch_hold(gate, a));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFreeAsync(data, a));
    order(a, b);
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(launch_fill(data, 2, count, b));
    CHECK(cudaFreeAsync(data, b));
    gate_open(gate);
}

/* With all three reuse policies off, memory that was freed before a synchronization goes to any
 * stream. */
LITMUS(reuse_synchronized, a, b)
{
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);

    int *data = memory_of(pool, MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    data = memory_of(pool, MiB, b);
    CHECK(launch_fill(data, 2, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
}

/* Stream b gets memory that stream a has freed, because a has got there. Stream b writes that
 * memory only.
 *
 * WRONG: b writes another allocation, counting on a's progress, which orders nothing: no edge from
 * a's write to b's.
 * Kind: unordered writes */
LITMUS(reuse_opportunistic, a, b)
{
    int *other = device_memory(MiB);

    CHECK(launch_fill(other, 1, count, a)); /* previous access */
    int *freed = pool_memory(MiB, a);
    CHECK(launch_fill(freed, 1, count, a));
    CHECK(cudaFreeAsync(freed, a));
    usleep(30000);
    int *data = pool_memory(MiB, b);
    CHECK(launch_fill(data, 2, count, b));
    CHECK(launch_add(IF_WRONG_ELSE(other, data), 1, count, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
}

/* The pool is full, so the allocator makes stream b wait for a's free. Stream b writes what it was
 * given.
 *
 * WRONG: b writes another allocation, counting on the allocator's wait, which orders nothing for
 * the program: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(reuse_internal, a, b)
{
    size_t bytes = 32 * MiB, count = bytes / sizeof(int);
    cudaMemPool_t pool;
    int *other = device_memory(bytes);
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = bytes;
    CHECK(cudaMemPoolCreate(&pool, &props));

    CHECK(launch_fill(other, 1, count, a)); /* previous access */
    int *freed = memory_of(pool, bytes, a);
    CHECK(cudaFreeAsync(freed, a));
    int *data = memory_of(pool, bytes, b);
    CHECK(launch_fill(data, 2, count, b));
    CHECK(launch_add(IF_WRONG_ELSE(other, data), 1, count, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
}

/* A smaller allocation gets the address of a freed one. It is used with its size, in its stream.
 *
 * WRONG: the stale pointer is used with the old size, in another stream.
 * Kind: access outside the allocation
 * Also: use before allocation */
LITMUS(reuse_smaller, a, b)
{
    int *newer;
    int *old = pool_memory(MiB, a);
    CHECK(launch_fill(old, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaMallocAsync((void **)&newer, 4096, a));           /* allocation */
    IF_WRONG(CHECK(launch_fill(old, 1, MiB / sizeof(int), b))); /* access */
    IF_RIGHT(CHECK(launch_fill(newer, 1, 1024, a)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(newer, a));
}

/* Two freed allocations become one larger. Its pointer is used, in its stream.
 *
 * WRONG: a stale pointer into it is used, in another stream: no edge from the new allocation to the
 * write.
 * Kind: use before allocation */
LITMUS(reuse_larger, a, b)
{
    int *both;
    int *first = pool_memory(MiB, a);
    int *second = pool_memory(MiB, a);
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaFreeAsync(second, a));
    CHECK(cudaMallocAsync((void **)&both, 2 * MiB, a)); /* allocation */
    IF_WRONG(CHECK(launch_fill(second, 1, 4, b)));      /* access */
    IF_RIGHT(CHECK(launch_fill(both, 1, 4, a)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(both, a));
}

/* cudaMalloc returns the address of freed memory for a smaller allocation. The new size is used.
 *
 * WRONG: the old pointer is used, with the old size.
 * Kind: access outside the allocation */
LITMUS(old_pointer_new_size)
{
    int *old, *newer;
    CHECK(cudaMalloc((void **)&old, MiB));
    CHECK(cudaFree(old));
    CHECK(cudaMalloc((void **)&newer, MiB / 2));                /* allocation */
    IF_WRONG(CHECK(launch_fill(old, 1, MiB / sizeof(int), 0))); /* access */
    IF_RIGHT(CHECK(launch_fill(newer, 1, MiB / 2 / sizeof(int), 0)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(newer));
}

/* An allocation gets the address of a freed one. Stream b waits for it, and uses its pointer.
 *
 * WRONG: b does not wait, and uses the stale pointer: no edge from the second allocation to the
 * write.
 * Kind: use before allocation */
LITMUS(stale_pointer, a, b)
{
    int *second;

    int *first = pool_memory(MiB, a);
    order(a, b);
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaMallocAsync((void **)&second, MiB, a)); /* allocation */
    IF_WRONG(CHECK(launch_fill(first, 1, count, b))); /* access */
    IF_RIGHT(order(a, b));
    IF_RIGHT(CHECK(launch_fill(second, 1, count, b)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(second, a));
}

/* The host waits for a's free, and stream b gets the memory. Stream a is done with it.
 *
 * WRONG: stream a writes through the stale pointer: no edge from b's allocation to that write.
 * Kind: use before allocation
 * Also: unordered writes */
LITMUS(stale_in_old_stream, a, b)
{
    int *newer;
    int *old = pool_memory(MiB, a);
    CHECK(launch_fill(old, 1, 4, a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMallocAsync((void **)&newer, MiB, b)); /* allocation */
    IF_WRONG(CHECK(launch_fill(old, 2, 4, a)));      /* access */
    CHECK(launch_fill(newer, 3, 4, b));
    CHECK(cudaFreeAsync(newer, b));
}
