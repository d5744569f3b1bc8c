/* Pinned, registered, and managed memory: copies of it, bounds, prefetches, and its free, which
 * waits for the device. */
#include "litmus.h"
#include <sys/mman.h>

#define BYTES (12 * MiB)

static const struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};

static cudaMemPool_t managed_pool(void)
{
    return keep(pool_at(cudaMemLocationTypeDevice, cudaMemAllocationTypeManaged), pool_release);
}

/* Stream b waits for the upload from a pinned buffer before it copies results into it.
 *
 * WRONG: b does not wait: no edge from a's read of the buffer to b's write.
 * Kind: write not ordered after a read */
LITMUS(pinned_buffer, a, b)
{
    int *buffer = pinned_memory(MiB), *up = device_memory(MiB), *down = device_memory(MiB);

    CHECK(cudaMemcpyAsync(up, buffer, MiB, cudaMemcpyHostToDevice, a)); /* previous access */
    IF_RIGHT(order(a, b));
    CHECK(cudaMemcpyAsync(buffer, down, MiB, cudaMemcpyDeviceToHost, b)); /* access */
}

/* The host waits for the copy to registered memory before a kernel writes there.
 *
 * WRONG: the host does not wait: no edge from the copy to the kernel's write.
 * Kind: unordered writes */
static int host[4 * MiB / sizeof(int)];

LITMUS(registered_buffer, a, b)
{
    CHECK(cudaHostRegister(host, sizeof host, cudaHostRegisterMapped));
    int *data = kept_pool_memory(MiB, a);

    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(launch_fill(host, 1, 100, b)); /* access */
    CHECK(cudaHostUnregister(host));
}

/* The host waits for the copy to registered memory, whose first and last page have other bytes,
 * too, before it reads there.
 *
 * WRONG: the host does not wait: no edge from the copy to the host's load.
 * Kind: host access not ordered after a write */
static char results[4 * MiB];

LITMUS(registered_read, a)
{
    char *to = results + 100;
    CHECK(cudaHostRegister(to, MiB, cudaHostRegisterDefault));
    char *data = device_memory(MiB);

    CHECK(cudaMemcpyAsync(to, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    results[99] = results[100 + MiB] = 1;
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    seen = to[MiB / 2]; /* access */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaHostUnregister(to));
    results[50000] = 1;
}

/* The host waits for the copy of registered memory before it writes the next values there.
 *
 * WRONG: the host does not wait: no edge from the copy's read to the host's store.
 * Kind: host write not ordered after a read */
static char values[MiB];

LITMUS(registered_write, a)
{
    CHECK(cudaHostRegister(values, MiB, cudaHostRegisterDefault));
    char *data = device_memory(MiB);

    CHECK(cudaMemcpyAsync(data, values, MiB, cudaMemcpyHostToDevice, a)); /* previous access */
    seen = values[MiB / 2];
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    values[MiB / 2] = 1; /* access */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaHostUnregister(values));
}

/* A kernel writes all of a pinned buffer.
 *
 * WRONG: it writes one int more.
 * Kind: access outside the allocation */
LITMUS(outside_pinned)
{
    may_fail = true;
    int *data;
    CHECK(cudaMallocHost((void **)&data, 4096));               /* allocation */
    CHECK(launch_fill(data, 1, IF_WRONG_ELSE(1025, 1024), 0)); /* access */
    keep(data, cudaFreeHost);
}

/* cudaFreeHost waits for the GPU that was current when the memory was allocated, and for no other,
 * so the host itself waits for the copies of the other GPU.
 * Devices: 2
 *
 * WRONG: the host does not wait: no edge from the copies of GPU 1 to the free.
 * Kind: free before the use ends */
LITMUS(freehost_other_device)
{
    may_fail = true;
    char *pinned = pinned_not_kept(MiB); /* GPU 0 is current. */
    cudaStream_t stream = stream_on(1);
    char *data = device_memory(MiB);
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemcpyAsync(data, pinned, MiB, cudaMemcpyHostToDevice, stream)); /* access */
    IF_RIGHT(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(pinned)); /* free */
}

/* cudaHostUnregister waits for the GPU that was current when the memory was registered, and for no
 * other, so the host itself waits for the copies of the other GPU.
 * Devices: 2
 *
 * WRONG: the host does not wait: no edge from the copies of GPU 1 to cudaHostUnregister.
 * Kind: free before the use ends */
LITMUS(unregister_other_device)
{
    may_fail = true;
    static char pinned[MiB];
    CHECK(cudaHostRegister(pinned, MiB, cudaHostRegisterDefault)); /* GPU 0 is current. */
    cudaStream_t stream = stream_on(1);
    char *data = device_memory(MiB);
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemcpyAsync(data, pinned, MiB, cudaMemcpyHostToDevice, stream)); /* access */
    IF_RIGHT(cudaStreamSynchronize(stream));
    CHECK(cudaHostUnregister(pinned)); /* free */
}

/* A copy to pinned memory comes before its free.
 *
 * WRONG: the copy comes after the free.
 * Kind: use after free
 * Fatal: nothing is at that address any more, and a copy touches it: SIGSEGV, as on a device */
LITMUS(use_after_free_of_pinned, a)
{
    int *host = pinned_not_kept(MiB), *data = kept_pool_memory(MiB, a);

    IF_RIGHT(CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a)));
    CHECK(cudaFreeHost(host));                                                   /* free */
    IF_WRONG((void)cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a)); /* access */
}

/* A memset and a kernel write pinned memory. Then that is freed, and the host maps memory of its
 * own at the same address.
 *
 * WRONG: the two come after that. On memory of the host that is not pinned they are no better.
 * Kind: use after free */
static void write_to(int *data, cudaStream_t a)
{
    (void)cudaMemsetAsync(data, 1, 4096, a); /* access */
    (void)launch_fill(data, 1, 1024, a);     /* access */
}

LITMUS(use_after_free_of_pinned_mapped, a)
{
    may_fail = true;
    int *pinned = pinned_not_kept(MiB);
    IF_RIGHT(write_to(pinned, a));
    CHECK(cudaFreeHost(pinned)); /* free */
    mmap(pinned, MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
         0);
    IF_WRONG(write_to(pinned, a));
}

/* A kernel writes pinned memory before that is freed.
 *
 * WRONG: the kernel is launched after the free.
 * Kind: use after free */
LITMUS(kernel_after_free_of_pinned, a)
{
    may_fail = true;
    int *host = pinned_not_kept(MiB);

    IF_RIGHT(CHECK(launch_fill(host, 1, 4, a)));
    CHECK(cudaFreeHost(host));                  /* free */
    IF_WRONG((void)launch_fill(host, 1, 4, a)); /* access */
}

/* A kernel writes pinned memory before that is freed. Then a host function runs, for which the
 * simulated device maps a stack of its own.
 *
 * WRONG: the kernel is launched after both. The stack must not have got the address.
 * Kind: use after free */
LITMUS(kernel_after_free_of_pinned_reused, stream)
{
    may_fail = true;
    char *pinned = pinned_not_kept(BYTES);
    int *last = (int *)(pinned + BYTES - 4096);

    IF_RIGHT(CHECK(launch_fill(last, 1, 1024, stream)));
    CHECK(cudaFreeHost(pinned)); /* free */
    CHECK(cudaLaunchHostFunc(stream, nothing, NULL));
    CHECK(cudaStreamSynchronize(stream));
    IF_WRONG((void)launch_fill(last, 1, 1024, stream)); /* access */
}

/* Pinned memory is freed once.
 *
 * WRONG: it is freed twice.
 * Kind: double free */
LITMUS(pinned_freed_twice)
{
    int *data = pinned_not_kept(MiB);
    CHECK(cudaFreeHost(data));          /* free */
    IF_WRONG((void)cudaFreeHost(data)); /* free */
}

/* Two threads free pinned memory each, and wait for the same work meanwhile.
 *
 * WRONG: both free the same memory, and the second frees what is no longer there.
 * Kind: double free */
static void *frees(void *pointer)
{
    cudaFreeHost(pointer); /* free */
    return NULL;
}

LITMUS(pinned_freed_by_two_threads, stream)
{
    void *first = pinned_not_kept(64 * MiB), *second = pinned_not_kept(64 * MiB);
    run_two_threads(stream, frees, first, IF_WRONG_ELSE(first, second));
    CHECK(cudaFreeHost(IF_WRONG_ELSE(second, NULL)));
}

/* A hold at a gate is over before the gate is freed.
 *
 * WRONG: the hold comes after the free.
 * Kind: use after free */
LITMUS(gate_freed_pinned, a)
{
    may_fail = true;
    volatile int *gate = gate_create();
    gate_open(gate);
    IF_RIGHT(CHECK(launch_hold(gate, a)));
    CHECK(cudaFreeHost((void *)gate));    /* free */
    IF_WRONG((void)launch_hold(gate, a)); /* access */
}

/* A graph keeps a pointer to pinned memory, which is freed behind its launch. Then a host function
 * runs, for which the simulated device maps a stack of its own.
 *
 * WRONG: the graph is launched after both. The stack must not have got the address.
 * Kind: use after free */
LITMUS(graph_of_freed_pinned, stream)
{
    may_fail = true;
    char *pinned = pinned_not_kept(BYTES);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemsetAsync(pinned + BYTES - 4096, 0, 4096, stream)); /* access */
    cudaGraphExec_t exec = end_capture(stream);

    IF_RIGHT(CHECK(cudaGraphLaunch(exec, stream)));
    CHECK(cudaFreeHost(pinned)); /* free */
    CHECK(cudaLaunchHostFunc(stream, nothing, NULL));
    CHECK(cudaStreamSynchronize(stream));
    IF_WRONG((void)cudaGraphLaunch(exec, stream));
}

/* The host waits for the kernel before it reads a small managed array, much less than a page.
 * Prints: summed
 *
 * WRONG: the host does not wait: no edge from the kernel's write to the host's read.
 * Kind: host access not ordered after a write */
LITMUS(managed_small)
{
    size_t count = 100;
    int sum = 0, *data = managed_memory(count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        data[i] = (int)i;

    CHECK(launch_add(data, 1, count, 0)); /* previous access */
    IF_RIGHT(CHECK(cudaDeviceSynchronize()));
    for (size_t i = 0; i < count; i++)
        sum += data[i]; /* access */
    printf("%s\n", sum > 0 ? "summed" : "nothing");
}

/* Two small managed arrays: the host uses one while a kernel writes the other, or the rest of one
 * beside the kernel. The free of one leaves the other alone. */
LITMUS(managed_neighbors)
{
    size_t count = 1500;
    int *other = managed_memory(count * sizeof(int)), *data;
    CHECK(cudaMallocManaged((void **)&data, count * sizeof(int), cudaMemAttachGlobal));

    CHECK(launch_fill(data, 1, count, 0));
    other[0] = other[count - 1] = 2;
    CHECK(cudaDeviceSynchronize());
    data[count - 1] += other[0];
    CHECK(launch_fill(data, 1, count / 2, 0));
    data[count - 1] += other[count - 1];
    CHECK(cudaFree(data));
    other[0] = 3;
}

/* Managed memory is prefetched in the stream that allocated it.
 *
 * WRONG: it is prefetched in another stream: no edge from the allocation to the prefetch.
 * Kind: use before allocation */
LITMUS(prefetch, a, b)
{
    int *data;
    cudaMemPool_t pool = managed_pool();
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));         /* allocation */
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, IF_WRONG_ELSE(b, a))); /* access */
    CHECK(launch_fill(data, 1, 4, a));
    keep(data, free_in_legacy_stream);
}

/* Managed memory is prefetched in one stream while another uses it. */
LITMUS(prefetch_beside, a, b)
{
    int *data = managed_memory(MiB);
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b));
    CHECK(launch_fill(data, 1, 4, a));
}

/* The second half of a managed allocation is prefetched in one stream while a kernel of another
 * fills all of it. A prefetch touches no bytes.
 *
 * WRONG: the first stream writes one byte in the middle.
 * Kind: unordered writes */
LITMUS(prefetch_inside, a, b)
{
    char *data = managed_memory(MiB);
    IF_WRONG(CHECK(cudaMemsetAsync(data + MiB / 2, 0, 1, a))); /* previous access */
    CHECK(cudaMemPrefetchAsync(data + MiB / 2, MiB / 2, here, 0, a));
    CHECK(launch_fill((int *)data, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaMemPrefetchAsync(data + MiB / 4, MiB / 2, here, 0, a));
}

/* Stream a waits for b's prefetch before it frees.
 *
 * WRONG: a does not wait: no edge from the prefetch to the free.
 * Kind: free before the use ends */
LITMUS(prefetch_free, a, b)
{
    cudaMemPool_t pool = managed_pool();
    int *data = memory_of(pool, MiB, a);
    order(a, b);
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b)); /* access */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    IF_RIGHT(order(b, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
}
