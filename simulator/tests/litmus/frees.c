/* Use after a free, a second free, and which calls that free wait for the device. */
#include "litmus.h"

/* An allocation is used before its free, in the same stream.
 *
 * WRONG: it is used after the free. A device notices nothing while the pool keeps the memory.
 * Kind: use after free */
LITMUS(use_after_free_same_stream, a)
{
    int *data = pool_memory(MiB, a);
    IF_RIGHT(CHECK(launch_fill(data, 1, count, a)));
    CHECK(cudaFreeAsync(data, a));                   /* free */
    IF_WRONG(CHECK(launch_fill(data, 1, count, a))); /* access */
}

/* Stream b writes an allocation, and stream a frees it after an event that b records after the
 * write.
 *
 * WRONG: the event is recorded before the write, which comes after the free.
 * Kind: use after free */
LITMUS(use_after_free_other_stream, a, b)
{
    int *data = pool_memory(MiB, a);
    order(a, b);
    IF_RIGHT(CHECK(launch_fill(data, 1, count, b)));
    order(b, a);
    CHECK(cudaFreeAsync(data, a));                   /* free */
    IF_WRONG(CHECK(launch_fill(data, 1, count, b))); /* access */
}

/* A copy reads an allocation before its free.
 *
 * WRONG: the copy is queued after the free. The call is refused (cudaErrorInvalidValue); the
 * program is incorrect all the same.
 * Kind: use after free */
LITMUS(use_after_free_copy, a)
{
    int *result = pinned_memory(MiB);

    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    IF_RIGHT(CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)));
    CHECK(cudaFreeAsync(data, a));                                                  /* free */
    IF_WRONG(CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a))); /* access */
}

/* Memory of cudaMalloc is used, then freed by cudaFreeAsync in the same stream.
 *
 * WRONG: it is used after the free.
 * Kind: use after free */
LITMUS(use_after_free_of_malloc, a)
{
    int *data = device_not_kept(MiB);
    CHECK(launch_fill(data, 1, count, a));
    IF_RIGHT(CHECK(launch_add(data, 1, count, a)));
    CHECK(cudaFreeAsync(data, a));                  /* free */
    IF_WRONG(CHECK(launch_add(data, 1, count, a))); /* access */
}

/* An allocation is freed in stream b, which waits for the last access in stream a. Any stream may
 * free.
 *
 * WRONG: b does not wait: no edge from a's write to the free.
 * Kind: free before the use ends */
LITMUS(free_elsewhere, a, b)
{
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a)); /* access */
    IF_RIGHT(order(a, b));
    CHECK(cudaFreeAsync(data, b)); /* free */
}

/* Two streams read an allocation, and the free waits for both.
 *
 * WRONG: the free waits for one of them: no edge from b's read to the free.
 * Kind: free before the use ends */
LITMUS(free_reads, a, b, c)
{
    int *host = pinned_memory(2 * MiB);
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    order(a, b);
    order(a, c);
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, b)); /* access */
    CHECK(cudaMemcpyAsync((char *)host + MiB, data, MiB, cudaMemcpyDeviceToHost, c));
    order(c, a);
    IF_RIGHT(order(b, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
}

/* Stream a waits for b's write before it frees.
 *
 * WRONG: a does not wait, and cudaFreeAsync waits for its own stream only: no edge from b's write
 * to the free.
 * Kind: free before the use ends */
LITMUS(free_does_not_wait, a, b)
{
    int *data = pool_memory(MiB, a);
    order(a, b);
    CHECK(launch_fill(data, 1, count, b)); /* access */
    IF_RIGHT(order(b, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
}

/* cudaFree and cudaFreeHost wait for the GPU that the memory belongs to, even when another is
 * current.
 * Devices: 2 */
LITMUS(free_with_another_current, stream)
{
    char *pinned = pinned_not_kept(MiB), *data = device_not_kept(MiB);
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemcpyAsync(data, pinned, MiB, cudaMemcpyHostToDevice, stream));
    CHECK(cudaSetDevice(1));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaSetDevice(0));
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemsetAsync(data, i, MiB, stream));
    CHECK(cudaSetDevice(1));
    CHECK(cudaFree(data));
}

/* The host waits for the kernel on a pool's allocation before it calls cudaFree.
 *
 * WRONG: the host does not wait, and for a pool's allocation cudaFree waits for nothing: no edge
 * from the kernel.
 * Kind: free before the use ends */
LITMUS(cudafree_of_pool_allocation, a)
{
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a)); /* access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaFree(data)); /* free */
}

/* cudaFree of cudaMalloc's memory while work on it is pending: the call waits for the device. */
LITMUS(cudafree_waits)
{
    cudaStream_t a = stream_new(cudaStreamDefault), b = stream_new(cudaStreamNonBlocking);

    int *data = device_not_kept(MiB);
    CHECK(launch_fill(data, 1, count / 2, a));
    CHECK(launch_fill(data + count / 2, 1, count / 2, b));
    CHECK(cudaFree(data));
}

/* cudaFree of any memory of cudaMalloc waits for the device: what comes before happens before what
 * comes after. */
NONBLOCKING_LITMUS(malloc_free_waits_other, a, b)
{
    int *any = device_not_kept(MiB);
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFree(any));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
}

/* The host waits for a copy from a pool's allocation before it calls cudaFree.
 *
 * WRONG: the host does not wait: no edge from the copy's read to the free.
 * Kind: free before the use ends */
LITMUS(copy_read_while_freed, a)
{
    int *host = pinned_memory(MiB);
    int *data = pool_memory(MiB, a);
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a)); /* access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaFree(data)); /* free */
}

/* A pool's allocation is freed once.
 *
 * WRONG: it is freed twice. The second call returns cudaErrorInvalidValue, or frees the memory of a
 * new owner.
 * Kind: double free */
LITMUS(double_free, a)
{
    int *data = pool_memory(MiB, a);
    CHECK(cudaFreeAsync(data, a));           /* free */
    IF_WRONG(CHECK(cudaFreeAsync(data, a))); /* free */
}

/* A pool's allocation is freed by cudaFreeAsync, and not by cudaFree.
 *
 * WRONG: it is freed by cudaFree, too.
 * Kind: double free */
LITMUS(double_free_by_cudafree, a)
{
    int *data = pool_memory(MiB, a);
    CHECK(cudaFreeAsync(data, a)); /* free */
    CHECK(cudaStreamSynchronize(a));
    IF_WRONG(CHECK(cudaFree(data))); /* free */
}

/* Memory of cudaMalloc is freed once, by cudaFreeAsync.
 *
 * WRONG: it is freed twice. Both calls succeed on a real device, which then hangs or crashes.
 * Kind: double free
 * Fatal: the simulated device stops the program there, with SIM_CHECK=off too */
LITMUS(double_free_of_malloc, a)
{
    int *data = device_not_kept(MiB);
    CHECK(cudaFreeAsync(data, a));           /* free */
    IF_WRONG(CHECK(cudaFreeAsync(data, a))); /* free */
}

/* Two threads free an allocation each, and wait for the same work meanwhile.
 *
 * WRONG: both free the same one, and the second frees what is no longer there.
 * Kind: double free */
static void *frees(void *pointer)
{
    cudaFree(pointer); /* free */
    return NULL;
}

LITMUS(freed_by_two_threads, stream)
{
    void *first = device_not_kept(64 * MiB), *second = device_not_kept(64 * MiB);
    run_two_threads(stream, frees, first, IF_WRONG_ELSE(first, second));
    CHECK(cudaFree(IF_WRONG_ELSE(second, NULL)));
}
