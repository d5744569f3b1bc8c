/* Which copies and memsets are over when the call returns. */
#include "litmus.h"

/* cudaMemcpy to the host returns when the copy is over, so stream b may write what was read.
 *
 * WRONG: cudaMemcpyAsync to pinned memory does not wait: no edge from its read to b's write.
 * Kind: write not ordered after a read */
NONBLOCKING_LITMUS(memcpy_waits, b)
{
    int *result = pinned_memory(MiB), *data = device_memory(MiB);

    /* previous access */
    IF_WRONG(CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, 0)));
    IF_RIGHT(CHECK(cudaMemcpy(result, data, MiB, cudaMemcpyDeviceToHost)));
    CHECK(launch_fill(data, 1, count, b)); /* access */
}

/* cudaMemcpy from pinned memory returns when the copy is over. */
NONBLOCKING_LITMUS(memcpy_from_pinned, a)
{
    int *data = device_memory(MiB), *source = pinned_memory(MiB);

    CHECK(cudaMemcpy(data, source, MiB, cudaMemcpyHostToDevice));
    CHECK(launch_add(data, 1, count, a));
}

/* The host waits for the legacy stream after a cudaMemcpy from pageable memory, before another
 * stream uses the bytes.
 *
 * WRONG: the host does not wait, and the call returns when the bytes have been staged: no edge from
 * the copy to a's write.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(memcpy_returns_early, a)
{
    static int source[MiB / sizeof(int)];
    int *data = device_memory(MiB);

    CHECK(cudaMemcpy(data, source, MiB, cudaMemcpyHostToDevice)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(0)));
    CHECK(launch_add(data, 1, count, a)); /* access */
}

/* The host waits for the legacy stream after a cudaMemcpy from device to device, before stream b
 * writes.
 *
 * WRONG: the host does not wait, and the call returns before the copy is over: no edge from it to
 * b's write.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(memcpy_on_device, b)
{
    int *from = device_memory(MiB), *to = device_memory(MiB);

    CHECK(cudaMemcpy(to, from, MiB, cudaMemcpyDeviceToDevice)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(cudaStreamLegacy)));
    CHECK(launch_add(to, 1, count, b)); /* access */
}

/* cudaMemcpy works in the legacy stream: it waits for the write in blocking stream a, and the host
 * for it. Then stream b, which is non-blocking, may write. */
LITMUS(memcpy_orders_blocking)
{
    int first;
    cudaStream_t a = stream_new(cudaStreamDefault), b = stream_new(cudaStreamNonBlocking);

    int *data = kept_pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
    CHECK(launch_add(data, first, count, b));
}

/* The host waits after a cudaMemset of device memory, before stream b writes.
 *
 * WRONG: the host does not wait, and the call, though not named Async, returns early: no edge from
 * it to b's write.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(memset_does_not_wait, b)
{
    int *data = device_memory(MiB);

    CHECK(cudaMemset(data, 0, MiB)); /* previous access */
    IF_RIGHT(CHECK(cudaDeviceSynchronize()));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* cudaMemset of pinned memory is over when it returns.
 *
 * WRONG: cudaMemsetAsync is not: no edge from it to a's write.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(memset_of_pinned, a)
{
    int *data = pinned_memory(MiB);

    IF_WRONG(CHECK(cudaMemsetAsync(data, 0, MiB, 0))); /* previous access */
    IF_RIGHT(CHECK(cudaMemset(data, 0, MiB)));
    CHECK(launch_add(data, 1, count, a)); /* access */
}

/* cudaMemset of managed memory is over when it returns.
 * Prints: 0 */
NONBLOCKING_LITMUS(memset_of_managed, a)
{
    int *data = managed_memory(MiB);
    data[0] = 5;

    CHECK(cudaMemset(data, 0, MiB));
    printf("%d\n", data[0]);
    CHECK(launch_add(data, 1, count, a));
}

/* A copy from the host to the host is over when the call returns, even that of cudaMemcpyAsync.
 *
 * WRONG: the copy is from a device, and not over when the call returns: no edge from it to b's
 * write.
 * Kind: unordered writes */
LITMUS(copy_in_host, a, b)
{
    int *from = pinned_memory(MiB), *to = pinned_memory(MiB), *data = device_memory(MiB);

    /* previous access */
    IF_WRONG(CHECK(cudaMemcpyAsync(to, data, MiB, cudaMemcpyDeviceToHost, a)));
    IF_RIGHT(CHECK(cudaMemcpyAsync(to, from, MiB, cudaMemcpyHostToHost, a)));
    CHECK(launch_add(to, 1, count, b)); /* access */
}

/* An asynchronous copy to ordinary memory of the host has waited for its stream when it returns
 * (measured; documented up to CUDA 11, "might" since), so stream b comes after a's work.
 *
 * WRONG: the copy is to pinned memory, and waits for nothing: no edge from it to the add.
 * Kind: write not ordered after a read */
LITMUS(pageable_copy_waits, a, b)
{
    static int ordinary[1024];
    int *pinned = pinned_memory(sizeof ordinary), *data = device_memory(sizeof ordinary);
    CHECK(launch_fill(data, 1, 1024, a));
    /* previous access */
    CHECK(cudaMemcpyAsync(IF_WRONG_ELSE(pinned, ordinary), data, 4096, cudaMemcpyDefault, a));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
}

/* cudaMemcpy from pageable memory waits for the legacy stream, and so for the blocking streams,
 * before it copies.
 *
 * WRONG: cudaMemcpyAsync from pageable memory may wait, and a large one does, but no program may
 * count on that: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(pageable_upload)
{
    static int source[4 * MiB / sizeof(int)];
    cudaStream_t a = stream_new(cudaStreamDefault), b = stream_new(cudaStreamNonBlocking);
    int *data = device_memory(MiB), *other = device_memory(sizeof source);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_WRONG(CHECK(cudaMemcpyAsync(other, source, sizeof source, cudaMemcpyHostToDevice, a)));
    IF_RIGHT(CHECK(cudaMemcpy(other, source, sizeof source, cudaMemcpyHostToDevice)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The bytes of a pageable source may be changed as soon as the call returns, whether few or many.
 * Prints: 7 7 */
LITMUS(staged_source, a)
{
    static int source[8 * MiB / sizeof(int)];
    int result[2];
    int *data = device_memory(8 * MiB);

    source[0] = 7;
    CHECK(cudaMemcpyAsync(data, source, MiB, cudaMemcpyHostToDevice, a));
    source[0] = 8;
    CHECK(cudaMemcpyAsync(&result[0], data, sizeof(int), cudaMemcpyDeviceToHost, a));
    source[0] = 7;
    CHECK(cudaMemcpyAsync(data, source, 8 * MiB, cudaMemcpyHostToDevice, a));
    source[0] = 8;
    CHECK(cudaMemcpyAsync(&result[1], data, sizeof(int), cudaMemcpyDeviceToHost, a));
    CHECK(cudaStreamSynchronize(a));
    printf("%d %d\n", result[0], result[1]);
}

/* Stream b copies from a host pool's allocation to which its device has no access, so the copy
 * stages the bytes at the call. The host has waited for the write before, and the free need not
 * wait for the copy.
 * Devices: 2
 *
 * WRONG: the host does not wait before the call: no edge from a's write to the copy's read.
 * Kind: read not ordered after a write
 * Says: cudaStreamSynchronize(a) after launch_fill */
LITMUS(staged_host_pool, a)
{
    cudaMemPool_t pool = host_pool();
    int *data = memory_of(pool, MiB, a);
    cudaStream_t b = stream_on(1);
    int *copy = device_memory(MiB);

    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDefault, b)); /* access */
    IF_WRONG(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaFreeAsync(data, a));
}

/* A copy between host pools is over when cudaMemcpy returns.
 * Prints: 3 */
NONBLOCKING_LITMUS(host_pool_copy, a)
{
    cudaMemPool_t pool = host_pool();
    int *from = memory_of(pool, MiB, a), *to = memory_of(pool, MiB, a);
    CHECK(cudaStreamSynchronize(a));
    from[0] = 3;
    CHECK(cudaMemcpy(to, from, MiB, cudaMemcpyHostToHost));
    printf("%d\n", to[0]);
    CHECK(cudaMemsetAsync(to, 0, MiB, a));
    CHECK(cudaFreeAsync(from, a));
    CHECK(cudaFreeAsync(to, a));
}

/* A copy from the device to a host pool's allocation is over when cudaMemcpy returns.
 * Prints: 3 */
NONBLOCKING_LITMUS(host_pool_from_device, a)
{
    cudaMemPool_t pool = host_pool();
    int *from = pool_memory(MiB, a);
    int *to = memory_of(pool, MiB, a);
    CHECK(launch_fill(from, 3, MiB / sizeof(int), a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemcpy(to, from, MiB, cudaMemcpyDeviceToHost));
    printf("%d\n", to[0]);
    CHECK(launch_fill(to, 0, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(from, a));
    CHECK(cudaFreeAsync(to, a));
}

/* A batch of two copies of 4 KiB. */
static void *to[2];
static const void *from[2];
static size_t sizes[2] = {4096, 4096}, first;
static struct cudaMemcpyAttributes attributes;

static void set_batch(int *one, int *other, const int *data, enum cudaMemcpySrcAccessOrder order)
{
    to[0] = one;
    to[1] = other;
    from[0] = data;
    from[1] = data + 1024;
    attributes.srcAccessOrder = order;
}

/* A batch copies what the host has waited for.
 *
 * WRONG: the host has not waited for the fill in another stream.
 * Kind: read not ordered after a write */
LITMUS(batch_of_copies, a, b)
{
    int *data = device_memory(MiB), *copy = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    set_batch(copy, copy + 1024, data, cudaMemcpySrcAccessOrderStream);
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, b)); /* access */
}

/* The two copies of a batch go to different places.
 *
 * WRONG: they go to the same one.
 * Kind: unordered writes
 * Says: nothing orders the copies of one batch */
LITMUS(batch_to_one_place, a)
{
    int *data = device_memory(MiB), *copy = device_memory(MiB);
    CHECK(cudaMemset(data, 0, MiB));
    CHECK(cudaDeviceSynchronize());
    set_batch(copy, copy + IF_WRONG_ELSE(1000, 1024), data, cudaMemcpySrcAccessOrderStream);
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, a)); /* access */
}

/* A batch reads what the stream has filled, in the stream's order.
 *
 * WRONG: it may read its sources earlier.
 * Kind: read not ordered after a write
 * Says: set the copy's srcAccessOrder to cudaMemcpySrcAccessOrderStream */
LITMUS(batch_in_stream_order, a)
{
    int *data = device_memory(MiB), *copy = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    set_batch(copy, copy + 1024, data,
              IF_WRONG_ELSE(cudaMemcpySrcAccessOrderAny, cudaMemcpySrcAccessOrderStream));
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, a)); /* access */
}

/* The stream's next work comes after the batch, even if that reads early.
 *
 * WRONG: another stream writes there.
 * Kind: write not ordered after a read */
LITMUS(batch_before_work, a, b)
{
    int *data = device_memory(MiB), *copy = device_memory(MiB);
    CHECK(cudaMemset(data, 0, MiB));
    CHECK(cudaDeviceSynchronize());
    set_batch(copy, copy + 1024, data, cudaMemcpySrcAccessOrderAny);
    /* previous access */
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, a));
    CHECK(launch_fill(data, 1, count, IF_WRONG_ELSE(b, a))); /* access */
}
