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

/* measured (two H200s): what frees memory waits until the memory's device is idle, whichever is current: pinned memory is of the one that was current when
 * it was made. For the work of other devices it does not wait, also when that uses the memory. The pools do not count it as a synchronise. Returns what
 * the pointer means then: meanwhile another thread may have freed it. */
static struct place wait_for_device(struct place p, const void *pointer)
{
    timeline_finish_device(p.kind == PLACE_PINNED ? p.pinned->device : memory_device(&p), false, call_name());
    return memory_find(pointer);
}

static bool is_still(struct place p, uint32_t block) { return memory_block(&p) == block; }

/* ---- device memory ---- */

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    cudaError_t e = CALL("cudaMalloc", COST_MALLOC);
    journal_number("bytes", bytes);
    if (!e && !pointer) e = cudaErrorInvalidValue;
    if (!e && !bytes) *pointer = NULL;                       /* measured: success and a null pointer */
    else if (!e) {
        struct chunk *c = memory_allocate(device_current(), bytes);
        if (!c) e = cudaErrorMemoryAllocation;
        else {
            c->id = memory_new_id();
            checker_allocated((struct watched){ &c->watch, c->id, memory_address(memory_heap(device_current()), c), bytes }, NULL, 0);
            journal_number("block", c->id);
            *pointer = memory_address(memory_heap(device_current()), c);
        }
    }
    return call_end(e);
}

cudaError_t cudaFree(void *pointer)
{
    cudaError_t e = CALL("cudaFree", pointer ? COST_FREE : COST_SMALL);
    if (e || !pointer) return call_end(e);
    struct place p = memory_find(pointer);
    journal_number("block", memory_block(&p));
    bool starts = p.kind == PLACE_BLOCK && p.offset == p.chunk->offset;
    if (starts && p.chunk->leaving) {
        checker_freed_nothing(pointer, NULL, "a real driver hangs or crashes at the next synchronise.");
        call_stop("double free", "cudaFree was given a block that cudaFreeAsync has freed already. A real driver hangs or crashes at the next synchronise.");
    }
    if (!starts) {
        checker_freed_nothing(pointer, NULL, REFUSED);
        e = cudaErrorInvalidValue;
    } else if (p.pool && p.pool->graph) {
        graph_block_free(graph_block_at(&p), NULL);          /* documented: its life ends at the call */
    } else if (p.pool) {
        checker_freed(memory_watched(&p, NULL), NULL, 0);
        pool_free_now(p.pool, p.chunk);                      /* measured: waits for nothing */
        journal_number("pool", (uint64_t)p.pool->id);
        if (!p.pool->imported) journal_number("reserved", pool_reserved(p.pool));
        if (!p.pool->imported) journal_number("used", p.pool->used);
    } else {
        uint32_t block = memory_block(&p);
        p = wait_for_device(p, pointer);
        if (!is_still(p, block) || p.chunk->leaving) {
            checker_freed_nothing(pointer, NULL, REFUSED);
            return call_end(cudaErrorInvalidValue);
        }
        checker_freed(memory_watched(&p, NULL), NULL, 0);
        memory_free(&p);
    }
    return call_end(e);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t e = CALL("cudaMemGetInfo", COST_MEM_INFO);
    if (!e && free) *free = device_free_memory(device_current());
    if (!e && total) *total = settings.memory;
    if (!e) journal_number("free", device_free_memory(device_current()));
    return call_end(e);
}

/* ---- pinned host memory ---- */

static cudaError_t host_allocate_pinned(const char *name, void **pointer, size_t bytes, unsigned flags)
{
    size_t plausible = bytes < 1024 * GiB ? bytes : 0;       /* what cannot be there takes no time: it would be centuries */
    cudaError_t e = call_begin(name, COST_MALLOC_HOST + (time_ns)((double)plausible / (double)MiB * 330e3));
    unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    journal_number("bytes", bytes);
    if (!e && (!pointer || flags & ~known)) e = cudaErrorInvalidValue;
    if (!e && !bytes) *pointer = NULL;
    else if (!e) {
        struct pinned *p = memory_pin_new(bytes, flags | cudaHostAllocMapped);     /* measured: cudaHostGetFlags says mapped in any case */
        if (!p) e = cudaErrorMemoryAllocation;
        else {
            checker_allocated((struct watched){ &p->watch, p->id, p->base, bytes }, NULL, 0);
            journal_number("block", p->id);
            *pointer = p->base;
        }
    }
    return call_end(e);
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes) { return AT(host_allocate_pinned("cudaMallocHost", pointer, bytes, 0)); }
cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags) { return AT(host_allocate_pinned("cudaHostAlloc", pointer, bytes, flags)); }

/* The pinned memory that starts exactly here, or NULL. */
static struct pinned *pinned_at(const void *pointer, bool registered)
{
    struct place p = memory_find(pointer);
    return p.kind == PLACE_PINNED && p.pinned->base == pointer && p.pinned->registered == registered ? p.pinned : NULL;
}

cudaError_t cudaFreeHost(void *pointer)
{
    cudaError_t e = CALL("cudaFreeHost", pointer ? COST_FREE_HOST : COST_SMALL);
    struct pinned *p = e || !pointer ? NULL : pinned_at(pointer, false);
    if (!e && pointer && !p) {
        if (!host_has_memory(pointer, 1)) checker_freed_nothing(pointer, NULL, REFUSED);
        e = cudaErrorInvalidValue;
    }
    if (p) {
        uint32_t block = p->id;
        journal_number("block", block);
        clock_charge((time_ns)((double)p->bytes / (double)MiB * 86e3));
        if (!is_still(wait_for_device(memory_find(pointer), pointer), block)) {
            checker_freed_nothing(pointer, NULL, REFUSED);
            return call_end(cudaErrorInvalidValue);
        }
        checker_freed((struct watched){ &p->watch, p->id, p->base, p->bytes }, NULL, 0);
        memory_unpin(p);
    }
    return call_end(e);
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags)
{
    cudaError_t e = CALL("cudaHostRegister", COST_MALLOC_HOST);
    if (!e && (!pointer || !bytes || flags & ~15u)) e = cudaErrorInvalidValue;
    if (!e && bytes > UINTPTR_MAX - (uintptr_t)pointer) e = cudaErrorInvalidValue;         /* measured */
    /* measured: what is registered in part is refused, and so are pinned memory, a device's, and addresses where nothing is */
    struct pinned *known = e ? NULL : memory_pinned_within(pointer, bytes);
    if (known && known->registered) e = cudaErrorHostMemoryAlreadyRegistered;
    if (!e && (known || memory_find(pointer).kind != PLACE_PAGEABLE || !host_has_memory(pointer, bytes))) e = cudaErrorInvalidValue;
    if (!e) {
        struct pinned *p = memory_pin(pointer, bytes, flags | cudaHostRegisterMapped);
        checker_allocated((struct watched){ &p->watch, p->id, p->base, bytes }, NULL, 0);
        journal_number("block", p->id);
    }
    return call_end(e);
}

cudaError_t cudaHostUnregister(void *pointer)
{
    cudaError_t e = CALL("cudaHostUnregister", COST_FREE_HOST);
    struct pinned *p = e ? NULL : pinned_at(pointer, true);
    if (!e && !p) e = memory_find(pointer).kind == PLACE_PINNED ? cudaErrorInvalidValue : cudaErrorHostMemoryNotRegistered;      /* measured, both */
    if (p) {
        uint32_t block = p->id;
        if (!is_still(wait_for_device(memory_find(pointer), pointer), block)) return call_end(cudaErrorHostMemoryNotRegistered);
        checker_unregistered((struct watched){ &p->watch, p->id, p->base, p->bytes });
        memory_unpin(p);
    }
    return call_end(e);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    cudaError_t e = CALL("cudaHostGetDevicePointer", COST_SMALL);
    if (!e && (!device || flags || memory_find(host).kind != PLACE_PINNED)) e = cudaErrorInvalidValue;
    if (!e) *device = host;                                  /* unified addresses: the same on both sides (measured) */
    return call_end(e);
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host)
{
    cudaError_t e = CALL("cudaHostGetFlags", COST_SMALL);
    struct place p = memory_find(host);
    if (!e && (!flags || p.kind != PLACE_PINNED)) e = cudaErrorInvalidValue;
    if (!e) *flags = p.pinned->flags;
    return call_end(e);
}

/* ---- memsets and copies ---- */

/* The host waits for the stream; the pools do not count it as a synchronise (measured: a blocking cudaMemcpy). documented (API synchronization behavior):
 * before a blocking copy out of pageable memory the stream is synchronised; an asynchronous one may do so: it waits here (measured), and orders nothing. */
static cudaError_t wait_for_copy(struct stream *s, enum copy_wait wait, bool blocking)
{
    uint64_t copy = s->last;
    if (wait == COPY_GOES_ON) return cudaSuccess;
    if (wait == COPY_IS_OVER) {
        timeline_finish(s, false, call_name());
    } else {
        struct record *before = stream_place(s, copy - 1);
        timeline_wait(s, copy, call_name());
        if (blocking) record_host_knows_before(before);
        record_release(before);
    }
    return device_faulted();
}

static cudaError_t memset_on(const char *name, void *to, int value, size_t bytes, cudaStream_t stream, bool per_thread, bool blocking)
{
    cudaError_t e = call_begin(name, COST_MEMSET);
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e) e = submit_memset(to, value, bytes, s);
    if (!e && blocking && bytes && work_blocking_memset_waits(to)) e = wait_for_copy(s, COPY_IS_OVER, true);
    return call_end(e);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) { return AT(memset_on("cudaMemset", to, value, bytes, 0, false, true)); }
EXPORT cudaError_t cudaMemset_ptds(void *to, int value, size_t bytes) { return AT(memset_on("cudaMemset", to, value, bytes, 0, true, true)); }
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) { return AT(memset_on("cudaMemsetAsync", to, value, bytes, stream, false, false)); }
EXPORT cudaError_t cudaMemsetAsync_ptsz(void *to, int value, size_t bytes, cudaStream_t stream) { return AT(memset_on("cudaMemsetAsync", to, value, bytes, stream, true, false)); }

/* `e`: what call_begin and the checks of the one call have said. */
static cudaError_t copy_async(cudaError_t e, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream, bool per_thread, bool peer)
{
    enum copy_wait wait = COPY_GOES_ON;
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e) e = submit_copy(to, from, bytes, kind, s, peer, &wait);
    if (!e) e = wait_for_copy(s, wait, false);
    return call_end(e);
}

static cudaError_t copy_in_stream(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaMemcpyAsync", kind == cudaMemcpyDeviceToDevice ? COST_COPY_ON_DEVICE : COST_COPY);
    return copy_async(e, to, from, bytes, kind, stream, per_thread, false);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) { return AT(copy_in_stream(to, from, bytes, kind, stream, false)); }
EXPORT cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) { return AT(copy_in_stream(to, from, bytes, kind, stream, true)); }

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, bool per_thread)
{
    cudaError_t e = call_begin("cudaMemcpy", COST_COPY_BLOCKING);
    enum copy_wait wait;
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(0, per_thread);
    if (!e) e = submit_copy(to, from, bytes, kind, s, false, &wait);
    if (!e && bytes) e = wait_for_copy(s, work_wait_of_blocking_copy(to, from), true);
    return call_end(e);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) { return AT(copy(to, from, bytes, kind, false)); }
EXPORT cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) { return AT(copy(to, from, bytes, kind, true)); }

/* The device that is named for an end of a peer copy must have access to it, when that is a pool's block. With other memory the
 * number plays no part, and ordinary memory of the host is refused (measured, driver 580.159.04: tests/facts/peer-numbers.txt;
 * ordinary memory as the destination only). */
static bool may_be_named(int device, const void *address)
{
    struct place p = memory_find(address);
    if (p.kind == PLACE_BLOCK && p.pool) return memory_reachable(&p, device);
    return p.kind != PLACE_PAGEABLE;
}

static cudaError_t check_named(void *to, int toDevice, const void *from, int fromDevice)
{
    if (!device_exists(toDevice) || !device_exists(fromDevice)) return cudaErrorInvalidDevice;
    return may_be_named(toDevice, to) && may_be_named(fromDevice, from) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int toDevice, const void *from, int fromDevice, size_t bytes, cudaStream_t stream)
{
    cudaError_t e = CALL("cudaMemcpyPeerAsync", COST_COPY);
    if (!e) e = check_named(to, toDevice, from, fromDevice);
    return copy_async(e, to, from, bytes, cudaMemcpyDefault, stream, false, true);
}

/* Orders `s` with every stream of its device and of the two: behind what they have, or before what they get. */
static void order_with_all(struct stream *s, int one, int other, bool before)
{
    for (struct stream *t = stream_first(); t; t = t->next) {
        if (t == s || t->destroyed || (t->device != s->device && t->device != one && t->device != other)) continue;
        if (before) stream_follow(s, t);
        else stream_follow(t, s);
    }
}

/* documented: asynchronous for the host, and serialized with all work, pending and future, of the current device and both named ones; so also with that of
 * non-blocking streams. Chosen: with a stream that is made later it is not; it answers as cudaMemcpyPeerAsync does */
cudaError_t cudaMemcpyPeer(void *to, int toDevice, const void *from, int fromDevice, size_t bytes)
{
    cudaError_t e = CALL("cudaMemcpyPeer", COST_COPY);
    enum copy_wait wait = COPY_GOES_ON;
    journal_number("bytes", bytes);
    struct stream *s = e ? NULL : call_stream(cudaStreamLegacy, false);
    if (!e) e = check_named(to, toDevice, from, fromDevice);
    if (!e) order_with_all(s, toDevice, fromDevice, true);
    if (!e) e = submit_copy(to, from, bytes, cudaMemcpyDefault, s, true, &wait);
    if (!e) order_with_all(s, toDevice, fromDevice, false);
    if (!e) e = wait_for_copy(s, wait, false);
    return call_end(e);
}

/* ---- pointers ---- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    cudaError_t e = CALL("cudaPointerGetAttributes", COST_SMALL);
    if (!e && !attributes) e = cudaErrorInvalidValue;
    if (!e) {
        struct place p = memory_find(pointer);
        journal_number("block", memory_block(&p));
        *attributes = (struct cudaPointerAttributes){ .type = cudaMemoryTypeUnregistered, .device = -2, .hostPointer = (void *)pointer };      /* measured: -2 */
        if (p.kind == PLACE_BLOCK) {
            bool managed = p.heap->shared && (!p.pool || pool_is_managed(p.pool));
            attributes->type = managed ? cudaMemoryTypeManaged : p.heap->shared ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
            attributes->device = memory_device(&p);
            /* measured: a host pool's block has an address on a device only while the device may touch it */
            attributes->devicePointer = memory_is_hosts(&p) && !memory_reachable(&p, attributes->device) ? NULL : (void *)pointer;
            if (!p.heap->shared) attributes->hostPointer = NULL;
        } else if (p.kind == PLACE_PINNED) {
            attributes->type = cudaMemoryTypeHost;
            attributes->device = p.pinned->device;
            attributes->devicePointer = (void *)pointer;
        }
    }
    return call_end(e);
}
