/* The API's skin: cudaMalloc, pinned memory, memsets, copies, pointer attributes. */
#include "api/export.h"

#include "api/call.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "graph/graph_memory.h"
#include "os/os.h"
#include "base/journal.h"
#include "mem/memory.h"
#include "sched/engine.h"
#include "run/dispatch.h"

/* measured (two H200s): what frees memory waits until the memory's device is idle, whichever is
 * current: pinned memory is of the one that was current when it was made. For the work of other
 * devices it does not wait, also when that uses the memory. The pools do not count it as a
 * synchronise. Returns what the pointer means then: meanwhile another thread may have freed it. */
static struct address_info wait_for_device(struct address_info a, const void *pointer)
{
    engine_finish_device(a.kind == ADDRESS_PINNED ? a.pinned->device : memory_device(&a), false,
                         call_name());
    return memory_find(pointer);
}

static bool is_same_allocation(struct address_info a, uint32_t id)
{
    return memory_allocation_id(&a) == id;
}

/* ---- device memory ---- */

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    cudaError_t e = CALL("cudaMalloc", COST_MALLOC);
    journal_number("bytes", bytes);
    if (!e && !pointer)
        e = cudaErrorInvalidValue;
    /* Measured: success and a null pointer. */
    if (!e && !bytes)
        *pointer = NULL;
    else if (!e) {
        struct range *r = memory_allocate(device_current(), bytes);
        if (!r)
            e = cudaErrorMemoryAllocation;
        else {
            r->id = memory_new_id();
            checker_allocated((struct shadow_ref){&r->shadow, r->id,
                                                  memory_address(memory_heap(device_current()), r),
                                                  bytes},
                              NULL, 0);
            journal_number("block", r->id);
            *pointer = memory_address(memory_heap(device_current()), r);
        }
    }
    return call_end(e);
}

cudaError_t cudaFree(void *pointer)
{
    cudaError_t e = CALL("cudaFree", pointer ? COST_FREE : COST_SMALL);
    if (e || !pointer)
        return call_end(e);
    struct address_info a = memory_find(pointer);
    journal_number("block", memory_allocation_id(&a));
    bool is_start = a.kind == ADDRESS_ALLOCATED && a.offset == a.range->offset;
    if (is_start && a.range->free_pending) {
        checker_freed_unallocated(pointer, NULL,
                                  "a real driver hangs or crashes at the next synchronise.");
        fatal_stop("double free",
                   "cudaFree was given a block that cudaFreeAsync has freed already. A real driver "
                   "hangs or crashes at the next synchronise.");
    }
    if (!is_start) {
        checker_freed_unallocated(pointer, NULL, FREE_REFUSED_NOTE);
        e = cudaErrorInvalidValue;
    } else if (a.pool && a.pool->graph) {
        /* Documented: its life ends at the call. */
        graph_allocation_free(graph_allocation_at(&a), NULL);
    } else if (a.pool) {
        checker_freed(memory_shadow(&a, NULL), NULL, 0);
        pool_free_now(a.pool, a.range); /* measured: waits for nothing */
        journal_number("pool", (uint64_t)a.pool->id);
        if (!a.pool->imported)
            journal_number("reserved", pool_reserved(a.pool));
        if (!a.pool->imported)
            journal_number("used", a.pool->used);
    } else {
        uint32_t id = memory_allocation_id(&a);
        a = wait_for_device(a, pointer);
        if (!is_same_allocation(a, id) || a.range->free_pending) {
            checker_freed_unallocated(pointer, NULL, FREE_REFUSED_NOTE);
            return call_end(cudaErrorInvalidValue);
        }
        checker_freed(memory_shadow(&a, NULL), NULL, 0);
        memory_free(&a);
    }
    return call_end(e);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t e = CALL("cudaMemGetInfo", COST_MEM_INFO);
    if (!e && free)
        *free = device_free_memory(device_current());
    if (!e && total)
        *total = settings.memory;
    if (!e)
        journal_number("free", device_free_memory(device_current()));
    return call_end(e);
}

/* ---- pinned host memory ---- */

static cudaError_t allocate_pinned(const char *name, void **pointer, size_t bytes, unsigned flags)
{
    /* What cannot be there takes no time: it would be centuries. */
    size_t plausible = bytes < 1024 * GiB ? bytes : 0;
    cudaError_t e =
        call_begin(name, COST_MALLOC_HOST + (time_ns)((double)plausible / (double)MiB * 330e3));
    unsigned valid_flags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    journal_number("bytes", bytes);
    if (!e && (!pointer || flags & ~valid_flags))
        e = cudaErrorInvalidValue;
    if (!e && !bytes)
        *pointer = NULL;
    else if (!e) {
        /* Measured: cudaHostGetFlags says mapped in any case. */
        struct pinned *p = memory_pin_new(bytes, flags | cudaHostAllocMapped);
        if (!p)
            e = cudaErrorMemoryAllocation;
        else {
            checker_allocated((struct shadow_ref){&p->shadow, p->id, p->base, bytes}, NULL, 0);
            journal_number("block", p->id);
            *pointer = p->base;
        }
    }
    return call_end(e);
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return AT(allocate_pinned("cudaMallocHost", pointer, bytes, 0));
}
cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    return AT(allocate_pinned("cudaHostAlloc", pointer, bytes, flags));
}

/* The pinned memory that starts exactly here, or NULL. */
static struct pinned *pinned_at(const void *pointer, bool registered)
{
    struct address_info a = memory_find(pointer);
    return a.kind == ADDRESS_PINNED && a.pinned->base == pointer
                && a.pinned->registered == registered
             ? a.pinned
             : NULL;
}

cudaError_t cudaFreeHost(void *pointer)
{
    cudaError_t e = CALL("cudaFreeHost", pointer ? COST_FREE_HOST : COST_SMALL);
    struct pinned *p = e || !pointer ? NULL : pinned_at(pointer, false);
    if (!e && pointer && !p) {
        if (!os_has_memory(pointer, 1))
            checker_freed_unallocated(pointer, NULL, FREE_REFUSED_NOTE);
        e = cudaErrorInvalidValue;
    }
    if (p) {
        uint32_t id = p->id;
        journal_number("block", id);
        time_charge((time_ns)((double)p->bytes / (double)MiB * 86e3));
        if (!is_same_allocation(wait_for_device(memory_find(pointer), pointer), id)) {
            checker_freed_unallocated(pointer, NULL, FREE_REFUSED_NOTE);
            return call_end(cudaErrorInvalidValue);
        }
        checker_freed((struct shadow_ref){&p->shadow, p->id, p->base, p->bytes}, NULL, 0);
        memory_unpin(p);
    }
    return call_end(e);
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags)
{
    cudaError_t e = CALL("cudaHostRegister", COST_MALLOC_HOST);
    if (!e && (!pointer || !bytes || flags & ~15u))
        e = cudaErrorInvalidValue;
    /* Measured. */
    if (!e && bytes > UINTPTR_MAX - (uintptr_t)pointer)
        e = cudaErrorInvalidValue;
    /* measured: what is registered in part is refused, and so are pinned memory, a device's, and
     * addresses where nothing is */
    struct pinned *pinned = e ? NULL : memory_pinned_within(pointer, bytes);
    if (pinned && pinned->registered)
        e = cudaErrorHostMemoryAlreadyRegistered;
    if (!e
        && (pinned || memory_find(pointer).kind != ADDRESS_PAGEABLE
            || !os_has_memory(pointer, bytes)))
        e = cudaErrorInvalidValue;
    if (!e) {
        struct pinned *p = memory_pin(pointer, bytes, flags | cudaHostRegisterMapped);
        checker_allocated((struct shadow_ref){&p->shadow, p->id, p->base, bytes}, NULL, 0);
        journal_number("block", p->id);
    }
    return call_end(e);
}

cudaError_t cudaHostUnregister(void *pointer)
{
    cudaError_t e = CALL("cudaHostUnregister", COST_FREE_HOST);
    struct pinned *p = e ? NULL : pinned_at(pointer, true);
    /* Measured, both. */
    if (!e && !p)
        e = memory_find(pointer).kind == ADDRESS_PINNED ? cudaErrorInvalidValue
                                                        : cudaErrorHostMemoryNotRegistered;
    if (p) {
        uint32_t id = p->id;
        if (!is_same_allocation(wait_for_device(memory_find(pointer), pointer), id))
            return call_end(cudaErrorHostMemoryNotRegistered);
        checker_unregistered((struct shadow_ref){&p->shadow, p->id, p->base, p->bytes});
        memory_unpin(p);
    }
    return call_end(e);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    cudaError_t e = CALL("cudaHostGetDevicePointer", COST_SMALL);
    if (!e && (!device || flags || memory_find(host).kind != ADDRESS_PINNED))
        e = cudaErrorInvalidValue;
    /* Unified addresses: the same on both sides (measured). */
    if (!e)
        *device = host;
    return call_end(e);
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host)
{
    cudaError_t e = CALL("cudaHostGetFlags", COST_SMALL);
    struct address_info a = memory_find(host);
    if (!e && (!flags || a.kind != ADDRESS_PINNED))
        e = cudaErrorInvalidValue;
    if (!e)
        *flags = a.pinned->flags;
    return call_end(e);
}

/* ---- memsets and copies ---- */

/* The host waits for the stream; the pools do not count it as a synchronise (measured: a blocking
 * cudaMemcpy). documented (API synchronization behavior): before a blocking copy out of pageable
 * memory the stream is synchronised; an asynchronous one may do so: it waits here (measured), and
 * orders nothing. */
static cudaError_t wait_for_copy(struct stream *s, enum copy_wait wait, bool blocking)
{
    uint64_t copy = s->last_seq;
    if (wait == COPY_QUEUED)
        return cudaSuccess;
    if (wait == COPY_DONE) {
        engine_finish(s, false, call_name());
    } else {
        struct record *before = stream_snapshot(s, copy - 1);
        engine_wait(s, copy, call_name());
        if (blocking)
            host_acquire_before_record(before);
        record_release(before);
    }
    return device_sticky_error();
}

static cudaError_t memset_on(const char *name, void *to, int value, size_t bytes,
                             cudaStream_t stream, bool per_thread, bool blocking)
{
    cudaError_t e = call_begin(name, COST_MEMSET);
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e)
        e = dispatch_memset(to, value, bytes, s);
    if (!e && blocking && bytes && command_memset_blocks(to))
        e = wait_for_copy(s, COPY_DONE, true);
    return call_end(e);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return AT(memset_on("cudaMemset", to, value, bytes, 0, false, true));
}
EXPORT cudaError_t cudaMemset_ptds(void *to, int value, size_t bytes)
{
    return AT(memset_on("cudaMemset", to, value, bytes, 0, true, true));
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return AT(memset_on("cudaMemsetAsync", to, value, bytes, stream, false, false));
}
EXPORT cudaError_t cudaMemsetAsync_ptsz(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return AT(memset_on("cudaMemsetAsync", to, value, bytes, stream, true, false));
}

/* `e`: what call_begin and the checks of the one call have said. */
static cudaError_t copy_async(cudaError_t e, void *to, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind, cudaStream_t stream, bool per_thread,
                              bool peer)
{
    enum copy_wait wait = COPY_QUEUED;
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e)
        e = dispatch_copy(to, from, bytes, kind, s, peer, &wait);
    if (!e)
        e = wait_for_copy(s, wait, false);
    return call_end(e);
}

static cudaError_t copy_in_stream(void *to, const void *from, size_t bytes,
                                  enum cudaMemcpyKind kind, cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaMemcpyAsync",
                               kind == cudaMemcpyDeviceToDevice ? COST_COPY_ON_DEVICE : COST_COPY);
    return copy_async(e, to, from, bytes, kind, stream, per_thread, false);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return AT(copy_in_stream(to, from, bytes, kind, stream, false));
}
EXPORT cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes,
                                        enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return AT(copy_in_stream(to, from, bytes, kind, stream, true));
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                        bool per_thread)
{
    cudaError_t e = call_begin("cudaMemcpy", COST_COPY_BLOCKING);
    enum copy_wait wait;
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(0, per_thread);
    if (!e)
        e = dispatch_copy(to, from, bytes, kind, s, false, &wait);
    if (!e && bytes)
        e = wait_for_copy(s, command_blocking_copy_wait(to, from), true);
    return call_end(e);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return AT(copy(to, from, bytes, kind, false));
}
EXPORT cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes,
                                   enum cudaMemcpyKind kind)
{
    return AT(copy(to, from, bytes, kind, true));
}

/* The device that is named for an end of a peer copy must have access to it, when that is a pool's
 * block. With other memory the number plays no part, and ordinary memory of the host is refused
 * (measured, driver 580.159.04: tests/facts/peer-numbers.txt; ordinary memory as the destination
 * only). */
static bool peer_device_allowed(int device, const void *address)
{
    struct address_info a = memory_find(address);
    if (a.kind == ADDRESS_ALLOCATED && a.pool)
        return memory_peer_accessible(&a, device);
    return a.kind != ADDRESS_PAGEABLE;
}

static cudaError_t check_peer_devices(void *to, int toDevice, const void *from, int fromDevice)
{
    if (!device_exists(toDevice) || !device_exists(fromDevice))
        return cudaErrorInvalidDevice;
    return peer_device_allowed(toDevice, to) && peer_device_allowed(fromDevice, from)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int toDevice, const void *from, int fromDevice,
                                size_t bytes, cudaStream_t stream)
{
    cudaError_t e = CALL("cudaMemcpyPeerAsync", COST_COPY);
    if (!e)
        e = check_peer_devices(to, toDevice, from, fromDevice);
    return copy_async(e, to, from, bytes, cudaMemcpyDefault, stream, false, true);
}

/* Orders `s` with every stream of its device and of the two: behind what they have, or before what
 * they get. */
static void serialize_with_all(struct stream *s, int to_device, int from_device, bool before)
{
    for (struct stream *t = stream_first(); t; t = t->next) {
        if (t == s || t->destroyed
            || (t->device != s->device && t->device != to_device && t->device != from_device))
            continue;
        if (before)
            stream_follow(s, t);
        else
            stream_follow(t, s);
    }
}

/* documented: asynchronous for the host, and serialized with all work, pending and future, of the
 * current device and both named ones; so also with that of non-blocking streams. Chosen: with a
 * stream that is made later it is not; it answers as cudaMemcpyPeerAsync does */
cudaError_t cudaMemcpyPeer(void *to, int toDevice, const void *from, int fromDevice, size_t bytes)
{
    cudaError_t e = CALL("cudaMemcpyPeer", COST_COPY);
    enum copy_wait wait = COPY_QUEUED;
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(cudaStreamLegacy, false);
    if (!e)
        e = check_peer_devices(to, toDevice, from, fromDevice);
    if (!e)
        serialize_with_all(s, toDevice, fromDevice, true);
    if (!e)
        e = dispatch_copy(to, from, bytes, cudaMemcpyDefault, s, true, &wait);
    if (!e)
        serialize_with_all(s, toDevice, fromDevice, false);
    if (!e)
        e = wait_for_copy(s, wait, false);
    return call_end(e);
}

/* ---- pointers ---- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    cudaError_t e = CALL("cudaPointerGetAttributes", COST_SMALL);
    if (!e && !attributes)
        e = cudaErrorInvalidValue;
    if (!e) {
        struct address_info a = memory_find(pointer);
        journal_number("block", memory_allocation_id(&a));
        /* Measured: -2. */
        *attributes = (struct cudaPointerAttributes){
            .type = cudaMemoryTypeUnregistered, .device = -2, .hostPointer = (void *)pointer};
        if (a.kind == ADDRESS_ALLOCATED) {
            bool managed = a.heap->host_visible && (!a.pool || pool_is_managed(a.pool));
            attributes->type = managed              ? cudaMemoryTypeManaged
                             : a.heap->host_visible ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
            attributes->device = memory_device(&a);
            /* measured: a host pool's block has an address on a device only while the device may
             * touch it */
            attributes->devicePointer =
                memory_is_host_pool(&a) && !memory_peer_accessible(&a, attributes->device)
                    ? NULL
                    : (void *)pointer;
            if (!a.heap->host_visible)
                attributes->hostPointer = NULL;
        } else if (a.kind == ADDRESS_PINNED) {
            attributes->type = cudaMemoryTypeHost;
            attributes->device = a.pinned->device;
            attributes->devicePointer = (void *)pointer;
        }
    }
    return call_end(e);
}
