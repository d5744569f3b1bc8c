/* The host's own loads and stores in memory that the device reads or writes. */
#include "litmus.h"

#define COUNT 1100

/* The host waits for the copy before it reads the buffer.
 * Prints: 42
 *
 * WRONG: the host does not wait: no edge from the copy to the host's read. A copy that comes late
 * has not changed the buffer yet.
 * Kind: host access not ordered after a write
 * Says: while cudaMemcpyAsync (stream 1) may still be writing it
 * Late: 0 */
LITMUS(host_reads_early, a)
{
    int *result = pinned_memory(sizeof(int));
    *result = 0;

    int *data = kept_pool_memory(sizeof(int), a);
    CHECK(launch_fill(data, 42, 1, a));
    /* previous access */
    CHECK(cudaMemcpyAsync(result, data, sizeof(int), cudaMemcpyDeviceToHost, a));
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    printf("%d\n", *result); /* access */
}

/* The host waits for the copy before it writes the buffer again.
 * Prints: 1
 *
 * WRONG: the host does not wait: no edge from the copy's read to the host's write. A copy that
 * comes late takes the new value.
 * Kind: host write not ordered after a read
 * Says: while cudaMemcpyAsync (stream 1) may still be reading it
 * Late: 2 */
LITMUS(host_writes_early, a)
{
    int result;
    int *buffer = pinned_memory(sizeof(int)), *data = device_memory(sizeof(int));

    *buffer = 1;
    /* previous access */
    CHECK(cudaMemcpyAsync(data, buffer, sizeof(int), cudaMemcpyHostToDevice, a));
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    *buffer = 2; /* access */
    CHECK(cudaMemcpy(&result, data, sizeof result, cudaMemcpyDeviceToHost));
    printf("%d\n", result);
}

/* A thousand copies and more into pages of pinned memory, and the host waits before it reads.
 *
 * WRONG: the host does not wait: it reads what the last copy writes.
 * Kind: host access not ordered after a write */
LITMUS(host_reads_last_of_many, stream)
{
    char *pinned = pinned_memory((size_t)COUNT * 8192), *data = device_memory(4096);

    for (int i = 0; i < COUNT; i++)
        /* previous access */
        CHECK(cudaMemcpyAsync(pinned + (size_t)i * 8192, data, 4096, cudaMemcpyDefault, stream));
    IF_RIGHT(CHECK(cudaStreamSynchronize(stream)));
    seen = pinned[(size_t)(COUNT - 1) * 8192]; /* access */
}

/* A thousand and more allocations that host and device share are freed. Then the host reads pinned
 * memory after a copy to it.
 *
 * WRONG: it reads while the copy may still be writing.
 * Kind: host access not ordered after a write */
LITMUS(host_reads_after_many_frees, stream)
{
    void *managed[COUNT];
    for (int i = 0; i < COUNT; i++)
        CHECK(cudaMallocManaged(&managed[i], 4096, cudaMemAttachGlobal));
    for (int i = 0; i < COUNT; i++)
        CHECK(cudaFree(managed[i]));
    char *pinned = pinned_memory(8192), *data = device_memory(8192);

    CHECK(cudaMemcpyAsync(pinned, data, 8192, cudaMemcpyDefault, stream)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(stream)));
    seen = pinned[5000]; /* access */
}

/* Another thread waits for the stream that copies, and the host joins that thread before it reads.
 *
 * WRONG: the thread waits for another stream: no edge from the copy to the host's read.
 * Kind: host access not ordered after a write */
static cudaStream_t a, b;

static void *waiter(void *unused)
{
    CHECK(cudaStreamSynchronize(IF_WRONG_ELSE(b, a)));
    return NULL;
}

LITMUS(host_load_elsewhere)
{
    int sum = 0;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    int *result = pinned_memory(MiB), *data = kept_pool_memory(MiB, a);
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    run_in_thread(waiter, NULL);
    for (size_t i = 0; i < MiB / sizeof(int); i++)
        sum += result[i];
    seen = sum;
}

/* Two copies write the same pinned bytes. The host waits for the first before it reads; the second
 * is behind a gate that the host has yet to open.
 *
 * WRONG: the host does not wait for the first copy: no edge from that to the host's read.
 * Kind: host access not ordered after a write */
LITMUS(host_load_gate, stream)
{
    volatile int *gate = gate_new();
    int *back = pinned_memory(MiB), *data = kept_pool_memory(MiB, stream);
    CHECK(cudaMemsetAsync(data, 0, MiB, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpyAsync(back, data, MiB, cudaMemcpyDeviceToHost, stream)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(stream)));
    CHECK(launch_hold(gate, stream));
    CHECK(cudaMemcpyAsync(back, data, MiB, cudaMemcpyDeviceToHost, stream));
    seen = back[MiB / sizeof(int) / 2]; /* access */
    gate_open(gate);
}

/* The host reads a buffer while a copy from it is pending, and writes it after an event that is
 * recorded after the copy.
 *
 * WRONG: the host does not wait for the event: no edge from the copy's read to the host's write.
 * Kind: host write not ordered after a read */
LITMUS(host_store, a)
{
    int *source = pinned_memory(2 * MiB);
    int *data = kept_pool_memory(2 * MiB, a);
    memset(source, 1, 2 * MiB);
    CHECK(cudaMemcpyAsync(data, source, 2 * MiB, cudaMemcpyHostToDevice, a)); /* previous access */
    cudaEvent_t copied = event_after(a);
    if (source[0] != 0x01010101)
        exit(1);
    IF_RIGHT(CHECK(cudaEventSynchronize(copied)));
    memset(source, 2, 2 * MiB);
}

/* The host uses one half of a pinned buffer while a copy to the other half is pending, even in one
 * page.
 * Prints: 7 */
LITMUS(host_store_disjoint, a)
{
    int *result = pinned_memory(MiB);
    int *data = kept_pool_memory(MiB, a);
    CHECK(cudaMemcpyAsync(result + 1000, data, 500000, cudaMemcpyDeviceToHost, a));
    for (int i = 0; i < 1000; i++)
        result[i] = 7;
    for (size_t i = 1000 + 125000; i < MiB / sizeof(int); i++)
        result[i] = 7;
    printf("%d\n", result[999]);
}

/* Two streams copy from one pinned buffer. The host waits for both before it writes the buffer.
 *
 * WRONG: the host waits for one of them: no edge from b's copy to the host's write.
 * Kind: host write not ordered after a read */
LITMUS(host_store_two_copies, a, b)
{
    int *source = pinned_memory(MiB), *first = device_memory(MiB), *second = device_memory(MiB);

    CHECK(cudaMemcpyAsync(first, source, MiB, cudaMemcpyHostToDevice, a));
    CHECK(cudaMemcpyAsync(second, source, MiB, cudaMemcpyHostToDevice, b)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(b)));
    CHECK(cudaStreamSynchronize(a));
    source[0] = 2; /* access */
}

/* A host pool's allocation is freed behind a gate. The host writes there while the gate is closed:
 * the free has not been reached.
 *
 * WRONG: the host writes when the gate is open.
 * Kind: host access after free
 * Says: which cudaFreeAsync (stream 1) has freed */
LITMUS(host_store_before_gate, a)
{
    cudaMemPool_t pool = closed_host_pool();
    volatile int *gate = gate_new();
    char *data = memory_of(pool, MiB, a);
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_hold(gate, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
    data[0] = 1;
    IF_RIGHT(data[MiB - 1] = 1);
    gate_open(gate);
    (void)cudaStreamQuery(a);
    IF_WRONG(data[MiB - 1] = 1); /* access */
}

/* The host waits for the allocation from a host pool before it writes there.
 *
 * WRONG: the host does not wait: no edge from the allocation to the host's write.
 * Kind: host access before allocation
 * Says: and has not waited for cudaMallocFromPoolAsync (stream 1), which allocates it. */
LITMUS(host_store_before_allocation, a)
{
    int *data;
    cudaMemPool_t pool = closed_host_pool();
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a)); /* allocation */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    data[0] = 1; /* access */
    CHECK(cudaFreeAsync(data, a));
}

/* The host writes to allocations of a host pool that reuse freed memory and end in the middle of a
 * page, also while the free of the one before is pending. */
LITMUS(host_store_in_reused, a)
{
    char *data, *other;
    cudaMemPool_t pool = closed_host_pool();
    for (size_t bytes = 512; bytes < 40000; bytes += 4608) {
        CHECK(cudaMallocFromPoolAsync((void **)&data, bytes, pool, a));
        CHECK(cudaMallocFromPoolAsync((void **)&other, bytes + 512, pool, a));
        CHECK(cudaStreamSynchronize(a));
        memset(data, 1, bytes);
        memset(other, 2, bytes + 512);
        CHECK(cudaFreeAsync(data, a));
        other[0] = other[bytes] = 3;
        CHECK(cudaFreeAsync(other, a));
    }
}

/* A call stores its result where a kernel may still be writing. This is not seen, and does not
 * hang. */
LITMUS(result_of_a_call, a)
{
    int *data = managed_memory(MiB);
    CHECK(launch_fill(data, 5, count, a));
    CHECK(cudaGetDevice(data));
}
