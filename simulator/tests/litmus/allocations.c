/* Use before an allocation and beyond its end, what is left when the process ends, and a pool that
 * its own process imports. */
#include "litmus.h"

/* Stream b writes an allocation of stream a after an event that a records after the allocation.
 *
 * WRONG: b does not wait: no edge from the allocation to b's write.
 * Kind: use before allocation */
LITMUS(use_before_allocation, a, b)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    IF_RIGHT(order(a, b));
    CHECK(launch_fill(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, a));
}

/* Stream b frees an allocation after an event that stream a records after the allocation.
 *
 * WRONG: b does not wait for the event: no edge from the allocation to the free.
 * Kind: free before allocation */
LITMUS(free_before_allocation, a, b)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    IF_RIGHT(order(a, b));
    CHECK(cudaFreeAsync(data, b)); /* free */
}

/* A kernel writes the second half of an allocation.
 *
 * WRONG: the count is added to the pointer twice, so the kernel writes where nothing is allocated.
 * Kind: use of memory that is not allocated */
LITMUS(behind_allocation, a)
{
    size_t half = MiB / sizeof(int) / 2;
    int *second;

    int *data = kept_pool_memory(MiB, a);
    second = data + half;
    CHECK(launch_fill(IF_WRONG_ELSE(second + half, second), 1, half, a)); /* access */
}

/* A kernel writes all of its allocation, to the last int.
 *
 * WRONG: it writes one int more. The memory there is the pool's, so a device notices nothing.
 * Kind: access outside the allocation */
LITMUS(beyond_allocation, a)
{
    int *data;

    CHECK(cudaMallocAsync((void **)&data, MiB, a));                  /* allocation */
    CHECK(launch_fill(data, 1, IF_WRONG_ELSE(count + 1, count), a)); /* access */
    CHECK(cudaFreeAsync(data, a));
}

/* Two streams write an allocation each, side by side in memory.
 *
 * WRONG: stream a writes past its allocation into its neighbor, which stream b writes.
 * Kind: access outside the allocation */
LITMUS(past_into_neighbor, a, b)
{
    int *first;
    CHECK(cudaMalloc((void **)&first, 512)); /* allocation */
    int *second = device_memory(512);
    CHECK(launch_fill(second, 1, 128, b));
    CHECK(launch_fill(first, 1, IF_WRONG_ELSE(256, 128), a)); /* access */
    keep(first, cudaFree);
}

/* Neither a failed allocation nor one of new memory is a barrier in the legacy stream: blocking
 * stream b does not wait for a, which is held, and the host waits for b before it opens the gate.
 *
 * WRONG: b adds to what a has filled, as if the allocations ordered the two.
 * Kind: unordered writes */
LITMUS(failed_allocation, a, b)
{
    size_t count = MiB / sizeof(int), free_bytes, total_bytes;
    void *refused, *made;
    volatile int *gate = gate_new();
    int *data = device_memory(MiB), *other = device_memory(MiB);
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_hold(gate, a));
    if (cudaMallocAsync(&refused, 2 * total_bytes, cudaStreamLegacy) != cudaErrorMemoryAllocation)
        exit(1);
    CHECK(cudaMallocAsync(&made, MiB, cudaStreamLegacy));
    CHECK(launch_add(IF_WRONG_ELSE(data, other), 1, count, b)); /* access */
    CHECK(cudaStreamSynchronize(b));
    gate_open(gate);
    CHECK(cudaFreeAsync(made, cudaStreamLegacy));
}

/* Memory of cudaMalloc is freed before the program ends.
 *
 * WRONG: it is never freed.
 * Kind: leak */
LITMUS(leak_malloc)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB)); /* allocation */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), 0));
    CHECK(cudaDeviceSynchronize());
    IF_RIGHT(CHECK(cudaFree(data)));
}

/* A pool's allocation is freed before the program ends.
 *
 * WRONG: it is never freed.
 * Kind: leak */
LITMUS(leak_pool_allocation, a)
{
    int *data;
    CHECK(cudaMallocAsync((void **)&data, MiB, a)); /* allocation */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    IF_RIGHT(CHECK(cudaFreeAsync(data, a)));
}

/* Pinned memory is freed before the program ends.
 *
 * WRONG: it is never freed.
 * Kind: leak */
LITMUS(leak_pinned)
{
    int *buffer;
    CHECK(cudaMallocHost((void **)&buffer, MiB)); /* allocation */
    *buffer = 1;
    IF_RIGHT(CHECK(cudaFreeHost(buffer)));
}

/* A program that ends because a call failed frees nothing more, and no leak is reported.
 * Status: 1 */
LITMUS(leak_after_error, a)
{
    int *data = pool_memory(MiB, a);
    int *more = pool_memory((size_t)1 << 50, a);
    CHECK(cudaFreeAsync(more, a));
    CHECK(cudaFreeAsync(data, a));
}

/* A pool is destroyed while it has a live allocation, which is used and freed as before. */
LITMUS(pool_destroyed, a)
{
    cudaMemPool_t pool = pool_create();

    int *data = memory_of(pool, MiB, a);
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(data, a));
}

/* A pool is destroyed while work on its allocation is pending, and the free comes after that work.
 *
 * WRONG: the free is in another stream, before the work: no edge from the memset to the free.
 * Kind: free before the use ends */
LITMUS(pool_destroyed_pending, a, b)
{
    cudaMemPool_t pool = pool_create();
    volatile int *gate = gate_new();
    void *data = memory_of(pool, 64 * MiB, a);
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_hold(gate, a));
    CHECK(cudaMemsetAsync(data, 1, 64 * MiB, a));    /* access */
    CHECK(cudaFreeAsync(data, IF_WRONG_ELSE(b, a))); /* free */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemPoolDestroy(pool));
    gate_open(gate);
}

static const enum cudaMemAllocationHandleType file = cudaMemHandleTypePosixFileDescriptor;

static cudaMemPool_t shared_pool(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = file,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return keep(pool, pool_release);
}

static cudaMemPool_t import_pool(cudaMemPool_t pool)
{
    cudaMemPool_t imported;
    int descriptor;
    CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool, file, 0));
    CHECK(cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)descriptor, file, 0));
    close(descriptor);
    return keep(imported, pool_release);
}

/* A process imports what it has exported itself. It uses the memory by the second pointer, and
 * frees that before the first.
 *
 * WRONG: it frees the first pointer while it holds the second.
 * Kind: free while this process holds an import of the allocation
 * Says: which this process itself has imported and not freed */
LITMUS(import_in_own_process, a)
{
    void *first, *second;
    cudaMemPool_t pool = shared_pool(), imported = import_pool(pool);
    struct cudaMemPoolPtrExportData exported;
    CHECK(cudaMallocFromPoolAsync(&first, 4096, pool, a)); /* allocation */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolExportPointer(&exported, first));
    CHECK(cudaMemPoolImportPointer(&second, imported, &exported));
    CHECK(cudaMemsetAsync(second, 7, 4096, a));
    IF_WRONG(CHECK(cudaFreeAsync(first, a))); /* free */
    CHECK(cudaFreeAsync(second, a));
    IF_RIGHT(CHECK(cudaFreeAsync(first, a)));
}

/* A process imports what it has exported itself, writes by the first pointer in one stream and by
 * the second in another that waits for the first.
 *
 * WRONG: it does not wait: no edge between the two writes.
 * Kind: unordered writes
 * Says: and this process (launch_fill, its stream 1) touch the same bytes */
LITMUS(import_use_in_own_process, a, b)
{
    void *first, *second;
    cudaMemPool_t pool = shared_pool(), imported = import_pool(pool);
    struct cudaMemPoolPtrExportData exported;
    CHECK(cudaMallocFromPoolAsync(&first, 4096, pool, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolExportPointer(&exported, first));
    CHECK(cudaMemPoolImportPointer(&second, imported, &exported)); /* allocation */
    CHECK(launch_fill(first, 1, 1024, a));
    IF_RIGHT(order(a, b));
    CHECK(launch_add(second, 1, 1024, b)); /* access */
    CHECK(cudaFreeAsync(second, b));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFreeAsync(first, a));
}
