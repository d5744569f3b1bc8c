/* cudaMalloc, pinned memory, memsets, copies, and pointer attributes. */
#include <stdlib.h>

#include "api/copies.h"
#include "memory_calls.inc"
#include "base/settings.h"
#include "check/failed_call.h"
#include "graph/dispatch.h"
#include "graph/graph_memory.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "os/os.h"
#include "sched/engine.h"
#include "sched/happens_before.h"
#include "sched/virtual_time.h"

/* On an H200 (measured: probe-pitch.txt, "widths"). */
#define PITCH_ALIGNMENT ((size_t)512)

/* Waits before memory is freed until its device is idle, whichever device is current. Pinned memory
 * belongs to the device that was current when it was made. Other devices may go on, even if they
 * use the memory (measured: probe-misuse.txt, "frees_used_of_0_on_1_current_0"). The pools do not
 * count this as a synchronization (measured: probe-answers.txt, "pools"). Returns what the pointer
 * means afterwards, because another thread may have freed the memory meanwhile. */
static struct address_info wait_for_device_unlocking(const struct call *call, struct address_info a,
                                                     const void *pointer)
{
    engine_finish_device_unlocking(a.kind == ADDRESS_PINNED ? a.pinned->device : memory_device(&a),
                                   ACQUIRES, call->origin.call);
    return memory_find(pointer);
}

static bool is_same_allocation(struct address_info a, uint32_t id)
{
    return memory_allocation_id(&a) == id;
}

/* ---- device memory ---- */

/* Measured (probe-full.txt): a device that is out of memory first takes back what its pools and
 * graphs keep unused. */
static struct range *allocate_on_device(int device, size_t bytes)
{
    struct range *r = memory_allocate(device, bytes);
    if (r)
        return r;
    pools_make_room(device, NULL);
    graph_memory_trim(device);
    return memory_allocate(device, bytes);
}

/* 0 bytes give success and a null pointer; a full device gives an error and a null pointer. Both
 * are measured (probe-strangers.txt), here and for all other allocations. */
static cudaError_t allocate(struct call *call, void **pointer, size_t bytes)
{
    line_number(&call->line, "bytes", bytes);
    *pointer = NULL;
    if (!bytes)
        return cudaSuccess;
    struct range *r = allocate_on_device(device_current(), bytes);
    if (!r)
        return cudaErrorMemoryAllocation;
    *pointer = memory_born(call, memory_heap(device_current()), r, ALLOCATION_AT_CALL, NULL, 0);
    line_number(&call->line, "allocation", r->id);
    return cudaSuccess;
}

cudaError_t do_cudaMalloc(struct call *call, void **pointer, size_t bytes)
{
    if (pointer)
        return allocate(call, pointer, bytes);
    failed_call_because("there is no place for the address: its first argument is a null pointer");
    return cudaErrorInvalidValue;
}

/* Allocates `count` rows. Measured (probe-pitch.txt, "rows_of_an_allocation", "heights"): each row
 * begins at a multiple of 512 bytes. 0 bytes have a pitch of 0. A rejected allocation has a pitch
 * and a null pointer. A size that wraps to 0 has its own error. */
static cudaError_t allocate_rows(struct call *call, void **pointer, size_t *pitch, size_t width,
                                 size_t count)
{
    size_t bytes, each = round_up(width, PITCH_ALIGNMENT);
    bool wraps = __builtin_mul_overflow(each, count, &bytes);
    *pitch = width && count ? each : 0;
    *pointer = NULL;
    if (width && count && !bytes)
        return cudaErrorInvalidValue;
    /* Assumed: a size that wraps to another number, too. */
    return wraps ? cudaErrorMemoryAllocation : allocate(call, pointer, bytes);
}

cudaError_t do_cudaMallocPitch(struct call *call, void **pointer, size_t *pitch, size_t width,
                               size_t height)
{
    return pointer && pitch ? allocate_rows(call, pointer, pitch, width, height)
                            : cudaErrorInvalidValue;
}

cudaError_t do_cudaMalloc3D(struct call *call, struct cudaPitchedPtr *pitched,
                            struct cudaExtent extent)
{
    size_t count;
    if (!pitched)
        return cudaErrorInvalidValue;
    if (__builtin_mul_overflow(extent.height, extent.depth, &count))
        return cudaErrorMemoryAllocation;
    cudaError_t e = allocate_rows(call, &pitched->ptr, &pitched->pitch, extent.width, count);
    if (e)
        return e;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return cudaSuccess;
}

static cudaError_t refuse_free(const struct call *call, const void *pointer)
{
    if (checker_freed_unallocated(call, pointer, NULL, FREE_REFUSED_NOTE))
        failed_call_because("%p is not what an allocation has returned", pointer);
    return cudaErrorInvalidValue;
}

/* Frees a pool's allocation for cudaFree, without waiting (measured: probe-waits.txt). */
static cudaError_t free_in_pool(struct call *call, struct address_info *a)
{
    checker_freed(call, memory_shadow(a), NULL, 0);
    pool_free_now(a->pool, a->range);
    line_number(&call->line, "pool", (uint64_t)a->pool->id);
    if (!a->pool->imported) {
        line_number(&call->line, "reserved", pool_reserved(a->pool));
        line_number(&call->line, "used", a->pool->used);
    }
    return cudaSuccess;
}

cudaError_t do_cudaFree(struct call *call, void *pointer)
{
    if (!pointer)
        return cudaSuccess;
    struct address_info a = memory_find(pointer);
    uint32_t id = memory_allocation_id(&a);
    line_number(&call->line, "allocation", id);
    if (a.kind != ADDRESS_ALLOCATED || a.offset != a.range->offset)
        return refuse_free(call, pointer);
    if (a.range->free_pending) {
        checker_freed_unallocated(call, pointer, NULL,
                                  "a real driver hangs or crashes at the next synchronization.");
        call_stop(
            call, HAZARD_DOUBLE_FREE,
            "cudaFree was given an allocation that cudaFreeAsync has freed already. A real driver "
            "hangs or crashes at the next synchronization.");
    }
    /* A graph's allocation ends at the call (documented). */
    if (a.pool && a.pool->graph) {
        graph_allocation_free(call, graph_allocation_at(&a), NULL);
        return cudaSuccess;
    }
    if (a.pool)
        return free_in_pool(call, &a);
    /* Measured (probe-ipc.txt, "memory"), here and for cudaFreeAsync. */
    if (memory_is_opened(&a) || a.heap->is_virtual)
        return cudaErrorInvalidValue;
    a = wait_for_device_unlocking(call, a, pointer);
    if (!is_same_allocation(a, id) || a.range->free_pending)
        return refuse_free(call, pointer);
    checker_freed(call, memory_shadow(&a), NULL, 0);
    memory_free(&a);
    return cudaSuccess;
}

cudaError_t do_cudaMemGetInfo(struct call *call, size_t *free, size_t *total)
{
    size_t device_free = call_told(device_free_memory(device_current()), sizeof device_free);
    if (free)
        *free = device_free;
    if (total)
        *total = settings.memory;
    line_number(&call->line, "free", device_free);
    return cudaSuccess;
}

/* ---- pinned host memory ---- */

static struct shadow_ref pinned_shadow(struct pinned *p)
{
    return (struct shadow_ref){&p->shadow, p->id, p->base, p->bytes};
}

cudaError_t do_cudaHostAlloc(struct call *call, void **pointer, size_t bytes, unsigned flags)
{
    unsigned valid_flags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    line_number(&call->line, "bytes", bytes);
    if (!pointer)
        return cudaErrorInvalidValue;
    *pointer = NULL;
    if (!bytes) /* Measured (probe-odd-answers.txt, "host_memory"): whatever the flags are. */
        return cudaSuccess;
    if (flags & ~valid_flags)
        return cudaErrorInvalidValue;
    /* cudaHostGetFlags always reports mapped (measured: probe-answers.txt, "memory"). */
    struct pinned *p = pinned_new(bytes, flags | cudaHostAllocMapped);
    if (!p)
        return cudaErrorMemoryAllocation;
    checker_allocated(call, pinned_shadow(p), ALLOCATION_PINNED, NULL, 0);
    line_number(&call->line, "allocation", p->id);
    *pointer = p->base;
    return cudaSuccess;
}

/* Returns the pinned memory that starts exactly here, or NULL. */
static struct pinned *pinned_at(const void *pointer, bool registered)
{
    struct address_info a = memory_find(pointer);
    return a.kind == ADDRESS_PINNED && a.pinned->base == pointer
                && a.pinned->registered == registered
             ? a.pinned
             : NULL;
}

cudaError_t do_cudaFreeHost(struct call *call, void *pointer)
{
    if (!pointer)
        return cudaSuccess;
    struct pinned *p = pinned_at(pointer, false);
    if (!p && !memory_host_has(pointer, 1))
        return refuse_free(call, pointer);
    if (!p) {
        failed_call_because("%p is not what an allocation of pinned memory has returned", pointer);
        return cudaErrorInvalidValue;
    }
    uint32_t id = p->id;
    line_number(&call->line, "allocation", id);
    virtual_now += (time_ns)((double)p->bytes / (double)MiB * 86e3);
    if (!is_same_allocation(wait_for_device_unlocking(call, memory_find(pointer), pointer), id))
        return refuse_free(call, pointer);
    checker_freed(call, pinned_shadow(p), NULL, 0);
    pinned_end(p);
    return cudaSuccess;
}

/* Rejects a range that wraps, partly registered memory, pinned memory, device memory, and addresses
 * without memory (measured: probe-misuse.txt, "registered"), and ordinary memory as that of a
 * device for input and output (measured: probe-odd-answers.txt, "host_memory"). */
cudaError_t do_cudaHostRegister(struct call *call, void *pointer, size_t bytes, unsigned int flags)
{
    if (!pointer || !bytes || flags & ~15u || bytes > UINTPTR_MAX - (uintptr_t)pointer)
        return cudaErrorInvalidValue;
    struct pinned *pinned = pinned_within(pointer, bytes);
    if (pinned && pinned->registered)
        return cudaErrorHostMemoryAlreadyRegistered;
    if (pinned || memory_find(pointer).kind != ADDRESS_PAGEABLE || flags & cudaHostRegisterIoMemory
        || !memory_host_has(pointer, bytes))
        return cudaErrorInvalidValue;
    struct pinned *p = pinned_register(pointer, bytes, flags | cudaHostRegisterMapped);
    checker_allocated(call, pinned_shadow(p), ALLOCATION_PINNED, NULL, 0);
    line_number(&call->line, "allocation", p->id);
    return cudaSuccess;
}

/* All errors of a pointer that is not registered are measured; that of a null pointer in
 * probe-outsiders-peers.txt. */
cudaError_t do_cudaHostUnregister(struct call *call, void *pointer)
{
    if (!pointer)
        return cudaErrorInvalidValue;
    struct pinned *p = pinned_at(pointer, true);
    if (!p)
        return memory_find(pointer).kind == ADDRESS_PAGEABLE ? cudaErrorHostMemoryNotRegistered
                                                             : cudaErrorInvalidValue;
    uint32_t id = p->id;
    if (!is_same_allocation(wait_for_device_unlocking(call, memory_find(pointer), pointer), id))
        return cudaErrorHostMemoryNotRegistered;
    checker_unregistered(call, pinned_shadow(p));
    pinned_end(p);
    return cudaSuccess;
}

/* Measured (probe-odd-peers.txt, "pointers"): mapped memory passes for the host's, too. */
static bool is_open_mapping(const struct address_info *a)
{
    return a->kind == ADDRESS_ALLOCATED && a->heap->is_virtual
        && memory_peer_accessible(a, device_current());
}

/* Addresses are unified: host and device use the same (measured: probe-answers.txt, "memory"). */
cudaError_t do_cudaHostGetDevicePointer(struct call *call, void **device, void *host,
                                        unsigned int flags)
{
    if (!device || !host)
        return cudaErrorInvalidValue;
    struct address_info a = memory_find(host);
    *device = flags || !(is_open_mapping(&a) || a.kind == ADDRESS_PINNED) ? NULL : host;
    return *device ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t do_cudaHostGetFlags(struct call *call, unsigned int *flags, void *host)
{
    struct address_info a = memory_find(host);
    /* Measured (probe-odd-answers.txt, "host_memory"). */
    const bool is_managed = a.kind == ADDRESS_ALLOCATED && a.heap->host_visible && !a.pool;
    if (!flags || (a.kind != ADDRESS_PINNED && !is_managed && !is_open_mapping(&a)))
        return cudaErrorInvalidValue;
    *flags = is_managed               ? cudaHostAllocMapped
           : a.kind == ADDRESS_PINNED ? a.pinned->flags & ~(unsigned)cudaHostRegisterReadOnly
                                      : cudaHostAllocMapped | cudaHostAllocPortable;
    return cudaSuccess;
}

/* ---- memsets and copies ---- */

/* Returns whether the call's line names the allocations that its work uses. Captured work names its
 * node instead, and work that a capture of another stream forbids names nothing. */
static bool names_allocations(const struct call *call, const struct stream *s)
{
    return line_is_open(&call->line) && !s->capturing && !capture_implicit(s);
}

/* Makes the host wait for a copy that was just queued. The pools do not count this as a
 * synchronization (measured: probe-answers.txt, "pools").
 *
 * Before a blocking copy from pageable memory the stream is synchronized. An asynchronous one may
 * do so (documented: API synchronization behavior); here it waits (measured: probe-waits.txt), but
 * orders nothing. On a GPU the bytes may arrive after either returns (measured: probe-uploads.txt).
 * Here they have arrived, and the checker reports programs that rely on it. A copy to pageable
 * memory also waits until it is done; with SIM_CHECK=strict that orders nothing either, as
 * documented. */
static cudaError_t wait_for_copy_unlocking(const struct call *call, struct stream *s,
                                           enum copy_wait wait, bool blocking)
{
    uint64_t copy = s->last_seq;
    if (wait == COPY_QUEUED)
        return cudaSuccess;
    if (wait == COPY_DONE && !blocking && settings.strict) {
        engine_wait_unlocking(s, copy, call->origin.call);
    } else if (wait == COPY_DONE) {
        engine_finish_unlocking(s, ACQUIRES, call->origin.call);
    } else {
        struct record *before = stream_snapshot(s, copy - 1);
        engine_wait_unlocking(s, copy, call->origin.call);
        if (blocking)
            host_acquire_before_record(before);
        record_release(before);
    }
    return device_sticky_error;
}

void line_rows(struct journal_line *line, struct rows r)
{
    line_number(line, "bytes", r.width * r.height);
    if (r.height != 1)
        line_number(line, "rows", r.height);
}

cudaError_t memset_async(struct call *call, void *to, int value, unsigned element, struct rows r,
                         struct stream *s)
{
    if (r.width && names_allocations(call, s))
        line_allocation(&call->line, to);
    return dispatch_memset(call, to, value, element, r, s);
}

cudaError_t memset_now(struct call *call, void *to, int value, unsigned element, struct rows r)
{
    struct stream *s = call_stream(call, 0);
    cudaError_t e = memset_async(call, to, value, element, r, s);
    if (e || !r.width || !command_memset_blocks(to))
        return e;
    return wait_for_copy_unlocking(call, s, COPY_DONE, true);
}

cudaError_t do_cudaMemset(struct call *call, void *to, int value, size_t bytes)
{
    line_number(&call->line, "bytes", bytes);
    return memset_now(call, to, value, 1, rows_of(bytes));
}

cudaError_t do_cudaMemsetAsync(struct call *call, void *to, int value, size_t bytes,
                               cudaStream_t stream)
{
    line_number(&call->line, "bytes", bytes);
    struct stream *s = call_stream(call, stream);
    if (!s)
        return bytes ? cudaErrorInvalidResourceHandle : cudaSuccess;
    return memset_async(call, to, value, 1, rows_of(bytes), s);
}

/* Adds the host's end of a copy to the call's line if it is pinned: other host memory has no name
 * that is the same in each run. */
static void line_host_end(struct call *call, const struct address_info *host)
{
    if (host->kind != ADDRESS_PINNED)
        return;
    line_number(&call->line, "host_allocation", memory_allocation_id(host));
    if (host->inner_offset)
        line_number(&call->line, "host_offset", host->inner_offset);
}

/* Returns whether the memory is elsewhere than a copy's direction names it. Managed memory and that
 * of a host pool may be named as either. */
static bool is_elsewhere(const struct address_info *a, bool on_device)
{
    bool either = a->heap && (a->heap->host_visible || memory_is_host_pool(a));
    return !either && (a->heap != NULL) != on_device;
}

/* Describes a copy in the call's line: its direction, and a given one that differs; its allocation
 * (the source's if only the source is in a heap) and, with two, also the source's. */
static void line_copy(struct call *call, const void *to, const void *from, enum cudaMemcpyKind kind)
{
    static const char *const given[] = {"HostToHost", "HostToDevice", "DeviceToHost",
                                        "DeviceToDevice"};
    struct address_info t = memory_find(to), f = memory_find(from);
    line_text(&call->line, "kind", command_copy_direction(&t, &f));
    if (kind != cudaMemcpyDefault && (is_elsewhere(&t, kind & 1) || is_elsewhere(&f, kind & 2)))
        line_text(&call->line, "given", given[kind]);
    line_allocation(&call->line, t.heap || !f.heap ? to : from);
    if (t.heap && f.heap)
        line_number(&call->line, "source_allocation", memory_allocation_id(&f));
    else if (t.heap || f.heap)
        line_host_end(call, t.heap ? &f : &t);
}

static cudaError_t queue_copy(struct call *call, void *to, const void *from, struct rows r,
                              enum cudaMemcpyKind kind, struct stream *s, enum copy_wait *wait)
{
    bool plausible = (unsigned)kind <= cudaMemcpyDefault && r.width && to && from;
    if (plausible && names_allocations(call, s))
        line_copy(call, to, from, kind);
    return dispatch_copy(call, to, from, r, kind, s, wait);
}

cudaError_t copy_memory(struct call *call, void *to, const void *from, struct rows r,
                        enum cudaMemcpyKind kind, const cudaStream_t *stream)
{
    enum copy_wait wait;
    call->origin.returns_early = !stream;
    struct stream *s = call_stream(call, stream ? *stream : 0);
    if (!s)
        return r.width ? cudaErrorInvalidResourceHandle : cudaSuccess;
    cudaError_t e = queue_copy(call, to, from, r, kind, s, &wait);
    if (e || (!stream && !r.width))
        return e;
    return stream ? wait_for_copy_unlocking(call, s, wait, false)
                  : wait_for_copy_unlocking(call, s, command_blocking_copy_wait(to, from), true);
}

cudaError_t copy_bytes(struct call *call, void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind, const cudaStream_t *stream)
{
    line_number(&call->line, "bytes", bytes);
    return copy_memory(call, to, from, rows_of(bytes), kind, stream);
}

/* ---- peers ---- */

/* If an end of a peer copy is a pool's allocation or mapped memory, the device that is named for it
 * must have access. With other memory the number does not matter, and ordinary host memory is
 * rejected (measured, driver 580.159.04: simulator/tests/facts/peer-numbers.txt; ordinary memory
 * only as the destination; mapped memory: probe-odd-peers.txt, "mapped"). */
static bool peer_device_allowed(int device, const void *address, bool write)
{
    struct address_info a = memory_find(address);
    if (a.kind == ADDRESS_ALLOCATED && (a.pool || a.heap->is_virtual))
        return write ? memory_peer_writable(&a, device) : memory_peer_accessible(&a, device);
    return a.kind != ADDRESS_PAGEABLE;
}

/* With 0 bytes, no argument is checked (measured: probe-peer-copies.txt, "peer_sizes"). */
static cudaError_t check_peer_devices(const void *to, int toDevice, const void *from,
                                      int fromDevice, size_t bytes)
{
    if (!bytes)
        return cudaSuccess;
    if (!device_exists(toDevice) || !device_exists(fromDevice))
        return cudaErrorInvalidDevice;
    return peer_device_allowed(toDevice, to, true) && peer_device_allowed(fromDevice, from, false)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

/* Measured (probe-peer-capture.txt; probe-odd-peers.txt, "copies"): a capture accepts
 * cudaMemcpyAsync between devices, but no copy that names its devices, right or wrong. */
cudaError_t check_peer_copy(struct call *call, const void *to, int toDevice, const void *from,
                            int fromDevice, size_t bytes, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    cudaError_t e = s && bytes ? capture_forbid(s) : cudaSuccess;
    return e ? e : check_peer_devices(to, toDevice, from, fromDevice, bytes);
}

cudaError_t do_cudaMemcpyPeerAsync(struct call *call, void *to, int toDevice, const void *from,
                                   int fromDevice, size_t bytes, cudaStream_t stream)
{
    line_number(&call->line, "bytes", bytes);
    cudaError_t e = check_peer_copy(call, to, toDevice, from, fromDevice, bytes, stream);
    struct rows r = {bytes, 1, bytes, bytes, .between_peers = true};
    return e ? e : copy_memory(call, to, from, r, cudaMemcpyDefault, &stream);
}

/* The copy is asynchronous for the host. It is serialized with all pending and future work of the
 * current device and both named ones (documented), and so also with work of non-blocking,
 * destroyed, and future streams. The recorded driver leaves out non-blocking streams
 * (probe-peer-copies.txt, "memcpy_peer_current_0"). The errors are those of cudaMemcpyPeerAsync
 * (measured: the same, "peer_devices" to "peer_from_freed"). */
cudaError_t do_cudaMemcpyPeer(struct call *call, void *to, int toDevice, const void *from,
                              int fromDevice, size_t bytes)
{
    enum copy_wait wait;
    line_number(&call->line, "bytes", bytes);
    struct stream *s = call_stream(call, cudaStreamLegacy);
    cudaError_t e = check_peer_devices(to, toDevice, from, fromDevice, bytes);
    if (e)
        return e;
    struct rows r = {bytes, 1, bytes, bytes, .between_peers = true};
    /* Assumed: a copy that is rejected or has no bytes queues nothing and orders nothing. */
    if (!bytes || capture_check(s) || command_refuses_copy(to, from, r, s))
        return queue_copy(call, to, from, r, cudaMemcpyDefault, s, &wait);
    unsigned devices = 1u << s->device | 1u << toDevice | 1u << fromDevice;
    stream_follow_devices(s, devices);
    e = queue_copy(call, to, from, r, cudaMemcpyDefault, s, &wait);
    if (e)
        return e;
    stream_precede_devices(s, devices);
    return wait_for_copy_unlocking(call, s, wait, false);
}

/* ---- batches ---- */

struct part {
    const char *from, *end;
    bool write;
};

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Returns whether a copy of the batch writes bytes that a copy reads or writes. */
static bool copies_meet(void *const *to, const void *const *from, const size_t *bytes, size_t count)
{
    struct part *all = os_allocate(2 * count * sizeof *all);
    const char *end = NULL, *written_end = NULL;
    bool meet = false;
    for (size_t i = 0; i < count; i++) {
        all[2 * i] = (struct part){to[i], (const char *)to[i] + bytes[i], true};
        all[2 * i + 1] = (struct part){from[i], (const char *)from[i] + bytes[i], false};
    }
    qsort(all, 2 * count, sizeof *all, compare_parts);
    for (const struct part *p = all; p < all + 2 * count && !meet; p++) {
        meet = p->from < (p->write ? end : written_end);
        end = p->end > end ? p->end : end;
        written_end = p->write && p->end > written_end ? p->end : written_end;
    }
    os_free(all);
    return meet;
}

/* The source may be read before earlier work of the stream has ended (documented for the orders
 * other than cudaMemcpySrcAccessOrderStream). */
static void read_early(struct call *call, const void *from, size_t bytes, struct stream *s)
{
    struct address_info a = memory_find(from);
    struct stream *early = stream_new_branch(s, s->device);
    early->host_version = 0;
    stream_enqueue_marker(early, BARRIER_FULL);
    const struct op at = {.stream = early, .seq = early->last_seq};
    if (a.kind != ADDRESS_PAGEABLE)
        command_check_use(call, &a, from, bytes, &at, false);
    stream_follow(s, early);
    stream_release_branch(early);
}

static cudaError_t check_batch(void *const *to, const void *const *from, const size_t *bytes,
                               size_t count, const struct cudaMemcpyAttributes *attributes,
                               const size_t *first, size_t attribute_count, const struct stream *s)
{
    if (!to || !from || !bytes || !count || !attributes || !first || !attribute_count
        || attribute_count > count || first[0] || s->kind == STREAM_LEGACY)
        return cudaErrorInvalidValue;
    for (size_t k = 0; k < attribute_count; k++)
        if (attributes[k].srcAccessOrder < cudaMemcpySrcAccessOrderStream
            || attributes[k].srcAccessOrder > cudaMemcpySrcAccessOrderAny || first[k] >= count
            || (k && first[k] <= first[k - 1]) || attributes[k].flags > 1)
            return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        if (!bytes[i] || command_refuses_copy(to[i], from[i], rows_of(bytes[i]), s))
            return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* Documented: the copies of a batch are in no order. So copies that meet are queued in branches,
 * where they are reported. Measured (probe-values.txt, "batch_waits"): of copies with ordinary
 * memory, only one that reads it in the order of the stream waits. */
cudaError_t do_cudaMemcpyBatchAsync(struct call *call, void *const *to, const void *const *from,
                                    const size_t *bytes, size_t count,
                                    struct cudaMemcpyAttributes *attributes, size_t *first,
                                    size_t attribute_count, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = check_batch(to, from, bytes, count, attributes, first, attribute_count, s);
    e = e ? e : capture_check(s);
    if (e || s->capturing) /* Measured (probe-values.txt, "batch_arguments"). */
        return e ? e : cudaErrorStreamCaptureUnsupported;
    const bool meet = copies_meet(to, from, bytes, count);
    struct stream **branches = meet ? os_allocate(count * sizeof *branches) : NULL;
    enum copy_wait wait, most = COPY_QUEUED;
    size_t all = 0;
    for (size_t i = 0, k = 0; i < count; i++) {
        k += k + 1 < attribute_count && i >= first[k + 1];
        const bool in_order = attributes[k].srcAccessOrder == cudaMemcpySrcAccessOrderStream,
                   at_call = attributes[k].srcAccessOrder == cudaMemcpySrcAccessOrderDuringApiCall;
        wait =
            in_order && memory_find(from[i]).kind == ADDRESS_PAGEABLE ? COPY_STAGED : COPY_QUEUED;
        if (!in_order)
            read_early(call, from[i], bytes[i], s);
        if (meet)
            stream_follow(branches[i] = stream_new_branch(s, s->device), s);
        e = command_copy(call, to[i], from[i], rows_of(bytes[i]), cudaMemcpyDefault,
                         meet ? branches[i] : s, at_call ? &wait : NULL);
        most = wait > most ? wait : most;
        all += bytes[i];
    }
    for (size_t i = 0; meet && i < count; i++) {
        stream_follow(s, branches[i]);
        stream_release_branch(branches[i]);
    }
    os_free(branches);
    line_number(&call->line, "bytes", all);
    return e ? e : wait_for_copy_unlocking(call, s, most, false);
}

/* ---- pointers ---- */

/* Memory has an address on the current device only while that device may touch it (measured:
 * probe-pools.txt, "copies_host"; probe-odd-peers.txt, "pointers"). */
static void describe_allocation(struct cudaPointerAttributes *attributes, struct address_info *a)
{
    bool managed = a->heap->host_visible && (!a->pool || pool_is_managed(a->pool));
    attributes->device = memory_device(a);
    attributes->type = managed               ? cudaMemoryTypeManaged
                     : a->heap->host_visible ? cudaMemoryTypeHost
                                             : cudaMemoryTypeDevice;
    if (memory_peer_accessible(a, device_current()))
        attributes->devicePointer = attributes->hostPointer;
    if (!a->heap->host_visible)
        attributes->hostPointer = NULL;
}

/* Since CUDA 13.4 an int follows hostPointer, localityDomainOrdinal, where older headers have the
 * beginning of `reserved`. Documented: it is -1 for memory that is in no locality domain, as all
 * memory is here. */
static void set_no_domain(struct cudaPointerAttributes *attributes)
{
    const int none = -1;
    size_t at = offsetof(struct cudaPointerAttributes, hostPointer) + sizeof(void *);
    memcpy((char *)attributes + at, &none, sizeof none);
}

/* The device of memory that is not CUDA's is -2 (measured: probe-answers.txt, "memory"). */
cudaError_t do_cudaPointerGetAttributes(struct call *call, struct cudaPointerAttributes *attributes,
                                        const void *pointer)
{
    if (!attributes)
        return cudaErrorInvalidValue;
    struct address_info a = memory_find(pointer);
    line_number(&call->line, "allocation", memory_allocation_id(&a));
    *attributes = (struct cudaPointerAttributes){
        .type = cudaMemoryTypeUnregistered, .device = -2, .hostPointer = (void *)pointer};
    set_no_domain(attributes);
    if (a.kind == ADDRESS_ALLOCATED)
        describe_allocation(attributes, &a);
    if (a.kind == ADDRESS_PINNED) {
        attributes->type = cudaMemoryTypeHost;
        attributes->device = a.pinned->device;
        attributes->devicePointer = (void *)pointer;
    }
    return cudaSuccess;
}
