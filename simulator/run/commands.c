/* Memsets, copies, and kernels. What a call rejects, and what only the running kernel notices, is
 * measured (simulator/tests/facts/danger.txt 4-6 and 17-19, p2p.txt 1-3, probe-answers.txt "copies
 * and memsets", probe-pools.txt "copies_host"). */
#include "run/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/fatal.h"
#include "check/checker.h"
#include "check/failed_call.h"
#include "check/page_guard.h"
#include "os/needs_lock.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/copy_engine.h"
#include "sched/cost.h"
#include "os/os.h"
#include "mem/address_map.h"
#include "run/value_notes.h"

/* Measured (probe-waits.txt): a pageable source of up to 2 MiB is staged at the call, while one of
 * 3 MiB makes the call wait for the stream, as any copy to the host does. */
#define STAGED_MAX (2 * MiB)

size_t rows_span(const struct rows *r, size_t pitch)
{
    NEEDS_LOCK();
    size_t before;
    if (r->height == 1)
        return r->width;
    if (__builtin_mul_overflow(pitch, r->height - 1, &before) || before > SIZE_MAX - r->width)
        return SIZE_MAX;
    return before + r->width;
}

/* Returns the rows that an op touches at its destination or, for a copy, at its source. */
static struct rows op_rows(const struct op *op)
{
    size_t height = op->height ? op->height : 1;
    return (struct rows){op->bytes / height, height, op->to_pitch, .from_pitch = op->from_pitch};
}
static size_t op_span(const struct op *op, bool write)
{
    struct rows r = op_rows(op);
    return rows_span(&r, write ? r.to_pitch : r.from_pitch);
}

static void set_rows(struct op *op, const struct rows *r)
{
    op->bytes = r->width * r->height;
    if (r->height == 1)
        return;
    op->height = r->height;
    op->to_pitch = r->to_pitch;
    op->from_pitch = r->from_pitch;
}

/* Returns the storage of `bytes` bytes at an address that has been checked. */
static char *storage_of(const void *address, size_t bytes)
{
    struct heap *h = address_map_find(address);
    if (h)
        return heap_storage(h, (size_t)((const char *)address - h->base), bytes);
    struct address_info a = memory_find(address);
    if (a.kind == ADDRESS_PINNED && a.pinned->registered)
        page_guard_open(address, bytes);
    return a.kind == ADDRESS_PINNED ? a.pinned->storage + a.inner_offset : (char *)address;
}

/* Closes the pages again that storage_of has opened. */
static void close_registered(const void *address, size_t bytes)
{
    const struct pinned *p = pinned_find(address);
    if (p && p->registered)
        page_guard_close(address, bytes);
}

void command_made_by(struct op *op, const struct call *call)
{
    NEEDS_LOCK();
    const struct origin *o = &call->origin;
    op->call = o->number;
    op->made_by =
        (struct made_by){o->call, o->site, o->launch_site, o->launch, checker_newest_allocation()};
}

/* ---- faults ---- */

#define NULL_PAGE 4096 /* Assumed: below this, an address is a null pointer plus an offset. */

static const char NO_ACCESS_TO_HOST_POOL[] =
    "is in a pool of the host that this device has no access to (cudaMemPoolSetAccess)";
static const char NO_ACCESS_TO_POOL[] =
    "is in a pool of a device that this one has no access to (cudaMemPoolSetAccess)";
static const char NO_ACCESS_TO_DEVICE[] =
    "is memory of a device that this one has no access to (cudaDeviceEnablePeerAccess)";

/* Returns whether the reason is that the program has not given the device access. */
static bool means_no_access(const char *why)
{
    return why == NO_ACCESS_TO_HOST_POOL || why == NO_ACCESS_TO_POOL || why == NO_ACCESS_TO_DEVICE;
}

static int home_of(const struct address_info *a) { return memory_home(a->heap, a->offset); }

/* Returns what a mapping of a reservation maps, or an info without an allocation for an address
 * elsewhere. */
static struct address_info next_mapping(const struct address_info *a)
{
    return a->kind == ADDRESS_ALLOCATED && a->heap->is_virtual
             ? memory_find(a->heap->base + a->offset + a->bytes_left)
             : (struct address_info){.kind = ADDRESS_UNALLOCATED};
}

static const char *why_not_mapped(struct address_info a, size_t bytes, int device, bool write)
{
    for (;; a = next_mapping(&a)) {
        if (!memory_peer_accessible(&a, device))
            return "is mapped memory that this device has no access to (cuMemSetAccess)";
        if (write && !memory_peer_writable(&a, device))
            return "is mapped memory that this device may only read (cuMemSetAccess)";
        if (bytes <= a.bytes_left)
            return NULL;
        bytes -= a.bytes_left;
    }
}

/* Returns why a device may not touch an address that is none of its memory. If an allocation begins
 * in the next page, or ends in this page or at its start, the program may have missed that. */
static const char *why_elsewhere(const char *address)
{
    static char text[128];
    const char *page = (const char *)page_up((uintptr_t)address),
               *last = (const char *)page_down((uintptr_t)address - 1);
    struct address_info next = memory_find(page), previous = memory_find(last);
    size_t before = next.inner_offset || !memory_allocation_id(&next) ? SIZE_MAX
                                                                      : (size_t)(page - address),
           behind = previous.kind == ADDRESS_PINNED ? (size_t)(address - last) - previous.bytes_left
                                                    : SIZE_MAX;
    if (before == behind)
        return memory_host_has(address, 1) ? "is memory of the host that is not pinned"
                                           : "is no memory of this program";
    if (before < behind)
        snprintf(text, sizeof text, "is %zu byte%s before allocation %u", before,
                 before == 1 ? "" : "s", memory_allocation_id(&next));
    else
        snprintf(text, sizeof text,
                 "is behind the %zu byte%s of allocation %u, which ends before the access does",
                 previous.pinned->bytes, previous.pinned->bytes == 1 ? "" : "s",
                 memory_allocation_id(&previous));
    return text;
}

const char *command_why_not(const struct address_info *a, const void *address, size_t bytes,
                            int device, bool write)
{
    NEEDS_LOCK();
    static char text[64];
    if (a->kind == ADDRESS_PINNED)
        return bytes <= a->bytes_left
                 ? NULL
                 : "is pinned memory of the host, but ends before the access does";
    if (!address)
        return "is a null pointer";
    if ((uintptr_t)address < NULL_PAGE) {
        snprintf(text, sizeof text, "is %zu byte%s after a null pointer", (size_t)address,
                 address == (void *)1 ? "" : "s");
        return text;
    }
    if (a->kind == ADDRESS_PAGEABLE)
        return why_elsewhere(address);
    if (a->heap->is_virtual && !heap_is_mapped(a->heap, a->offset, bytes))
        return "is a reserved address where nothing is mapped (cuMemMap)";
    if (a->heap->is_virtual && device != NO_DEVICE)
        return why_not_mapped(*a, bytes, device, write);
    if (device != NO_DEVICE && !memory_peer_accessible(a, device))
        return a->heap->host_visible ? NO_ACCESS_TO_HOST_POOL
             : a->pool               ? NO_ACCESS_TO_POOL
                                     : NO_ACCESS_TO_DEVICE;
    return heap_is_mapped(a->heap, a->offset, bytes)
             ? NULL
             : "has no physical memory: it was never allocated, or it was freed and has gone back";
}

struct origin command_origin(const struct op *op)
{
    NEEDS_LOCK();
    const struct made_by *m = &op->made_by;
    struct origin origin = {.call = m->call,
                            .site = m->site,
                            .launch = m->launch,
                            .launch_site = m->launch_site,
                            .number = op->call};
    return checker_origin_of(origin, op->stream, op->seq);
}

/* What to do about a fault, found by words of the sentence that says what happened. Where several
 * match, the first one counts. */
static const char *remedy_of(const char *what)
{
    static const struct {
        const char *words, *remedy;
    } remedies[] = {
        {"the gate", "make the gate in pinned memory of the host (gate_create, cudaMallocHost)."},
        {"null pointer", "pass a pointer that an allocation has returned, and check the result of "
                         "that allocation."},
        {"is not pinned", "pass memory of the device and copy the data there, or pin this memory "
                          "first (cudaMallocHost, cudaHostRegister)."},
        {"no longer pinned", "let the host wait for the work before it unpins the memory."},
        {"no physical memory", "use the memory after its allocation and before its free, and no "
                               "bytes beyond its end."},
        {"memory that is not there", "launch the graph while the memory of all its nodes is "
                                     "allocated."},
        {"nothing is mapped", "map memory there first (cuMemMap, cuMemSetAccess), and unmap it "
                              "after the work has ended."},
        {" access to (", "give this device access first, with the function in parentheses."},
        {"may only read (", "give this device access for writing, with the function in "
                            "parentheses."},
        {" before allocation", "correct the index: it is negative or too small."},
        {"ends before the access does", "allocate as many bytes as are used, or use fewer."},
        {"no memory of this program", "correct the index or the pointer: no allocation has these "
                                      "bytes."},
        {"is no multiple", "begin at a multiple of the access's size, or access smaller pieces."},
        {"the shared memory of its block", "correct the index, or give the launch more shared "
                                           "memory."},
        {"the memory of its thread", "correct the index into the thread's own array."},
        {"than its stack allows", "nest fewer calls, or raise cudaLimitStackSize "
                                  "(cudaDeviceSetLimit)."},
        {"where no function is", "set the pointer to a function of the device before the call."},
        {"gave free an address", "free what malloc has returned, and each address once."},
        {"texture or surface object", "create the object before the launch, and destroy it after "
                                      "the kernel has ended."},
        {"outside of its surface", "correct the coordinates: multiply x by the size of an "
                                   "element."},
        {"handle of a condition", "pass a handle that was made for this graph."},
        {"waits at a barrier", "let all threads of the block come to the barrier."},
    };
    for (size_t n = 0; n < sizeof remedies / sizeof *remedies; n++)
        if (strstr(what, remedies[n].words))
            return remedies[n].remedy;
    return "correct what the first sentence says.";
}

void command_fault(const struct op *op, cudaError_t error, const char *what, const char *inside,
                   bool is_hazard)
{
    NEEDS_LOCK();
    struct origin origin = command_origin(op);
    enum hazard kind = error == cudaErrorIllegalAddress    ? HAZARD_ILLEGAL_ADDRESS
                     : error == cudaErrorMisalignedAddress ? HAZARD_MISALIGNED_ADDRESS
                                                           : HAZARD_LAUNCH_FAILURE;
    if (!is_hazard
        || !checker_faulted(&origin, kind, what, inside, remedy_of(what), error_name(error)))
        diag("%s: %s (stream %d) %s. Every further call returns %s.", hazard_name(kind),
             origin.call, op->stream->id, what, error_name(error));
    device_fault(error);
}

/* A fault at an address. `why`: the end of the sentence. */
static void fault_at(const struct op *op, cudaError_t error, const void *address, const char *why,
                     bool is_hazard)
{
    char what[256];
    snprintf(what, sizeof what, "touched %p, which %s", address, why);
    command_fault(op, error, what, NULL, is_hazard);
}

/* Returns whether an op that was checked when it was queued may still touch its memory when it
 * runs, because meanwhile the memory may have been freed, or access to it revoked. Returns false
 * after a fault. Measured (probe-misuse.txt, "pool_gone_copy", "revoked_copy",
 * "frees_used_of_0_on_1_current_0"): a copy has an error code of its own, and so has a memset of
 * host memory. */
static bool may_touch(struct op *op, const void *address)
{
    struct address_info a = memory_find(address);
    const char *why = NULL;
    bool write = address == op->to, copy = op->from, lacks_access = false;
    if (op->operands[write].pinned && a.kind != ADDRESS_PINNED)
        why = "is no longer pinned memory";
    else if (a.heap ? !heap_is_mapped(a.heap, a.offset, op_span(op, write))
                    : op->operands[write].in_heap)
        why = "has no physical memory: it was freed and has gone back";
    else if (op->operands[write].accessible && (a.pool || !copy)
             && !memory_peer_accessible(&a, op->stream->device))
        lacks_access = (why = "is memory of a device that this one no longer has access to");
    if (!why)
        return true;
    bool launch_failure = (copy && !(a.heap && a.heap->host_visible)) || op->operands[write].pinned;
    fault_at(op, launch_failure ? cudaErrorLaunchFailure : cudaErrorIllegalAddress, address, why,
             !lacks_access);
    return false;
}

/* Measured (probe-pools.txt, "copies_host"): a copy treats an allocation of a host pool as host
 * memory. The copy needs no access to the pool and must not call the allocation device memory. If
 * the device has no access, the allocation is like any other host memory, whose end is unknown. */
static bool is_host_pool_range(const struct address_info *a)
{
    return a->kind == ADDRESS_ALLOCATED && memory_is_host_pool(a);
}
static bool is_pageable(const struct address_info *a, int device)
{
    return a->kind == ADDRESS_PAGEABLE
        || (is_host_pool_range(a) && !memory_peer_accessible(a, device));
}

/* The device that needs access to what is copied or set. */
enum access_rule {
    /* The stream's device. */
    ACCESS_MEMSET,
    /* The current device, whatever the stream's (measured: probe-odd-peers.txt, "copies"). */
    ACCESS_COPY,
    /* cudaMemcpyPeerAsync: the named devices, which the call has asked. */
    ACCESS_PEER_COPY,
    /* A node that is launched: none (measured: probe-odd-peers.txt, "nodes"). */
    ACCESS_COPY_NODE
};

/* Returns the rule of a copy. `wait` is that of command_copy. */
static enum access_rule copy_rule(const struct rows *r, const enum copy_wait *wait)
{
    return r->between_peers ? ACCESS_PEER_COPY : wait ? ACCESS_COPY : ACCESS_COPY_NODE;
}

static bool may_use(const struct address_info *a, int device, bool write)
{
    return write ? memory_peer_writable(a, device) : memory_peer_accessible(a, device);
}

static bool is_read_only(const struct address_info *a)
{
    return a->kind == ADDRESS_PINNED && a->pinned->flags & cudaHostRegisterReadOnly;
}

/* Returns whether the bytes are in one allocation that a copy or memset of `device` may touch. */
static bool is_allowed(const struct address_info *a, size_t bytes, int device,
                       enum access_rule rule, bool write)
{
    bool copy = rule != ACCESS_MEMSET, peer = rule == ACCESS_PEER_COPY;
    if (a->kind == ADDRESS_UNALLOCATED || (peer && is_host_pool_range(a))
        || (write && is_read_only(a)))
        return false;
    if (copy && is_host_pool_range(a))
        return bytes <= a->bytes_left || is_pageable(a, device);
    if (a->kind != ADDRESS_PAGEABLE && bytes > a->bytes_left) {
        /* Measured (probe-virtual.txt, "used_beyond"): neighboring mappings count as one. */
        struct address_info next = next_mapping(a);
        return next.kind == ADDRESS_ALLOCATED && is_allowed(a, a->bytes_left, device, rule, write)
            && is_allowed(&next, bytes - a->bytes_left, device, rule, write);
    }
    /* Documented: copies between cudaMalloc memory of two devices need no rights, because they are
     * staged where the devices cannot reach each other. */
    bool is_plain = a->heap && !a->pool && !a->heap->is_virtual;
    return rule >= ACCESS_PEER_COPY || (copy && is_plain)
        || may_use(a, copy ? device_current() : device, write);
}

/* Returns whether the address was freed or never allocated. An address of freed pinned memory is a
 * host address, which other memory may have by now. A copy there is correct, but a kernel or memset
 * is not. */
static bool is_unallocated(const struct address_info *a, const void *address, bool copy)
{
    if (a->kind == ADDRESS_PAGEABLE)
        return checker_was_freed(address) && !(copy && memory_host_has(address, 1));
    return a->kind == ADDRESS_UNALLOCATED
        || (a->kind == ADDRESS_ALLOCATED && a->range->free_pending);
}

/* Reports an op's use of its memory to the checker. `copy`: the op is a copy. */
static void check_use(const struct call *call, struct address_info *a, const void *address,
                      size_t bytes, const struct op *op, bool write, bool copy)
{
    if (is_unallocated(a, address, copy)) {
        checker_used_unallocated(call, address, bytes, op->stream, op->seq, write,
                                 memory_allocation_before(a), a->pool && a->pool->graph);
        return;
    }
    if (a->kind == ADDRESS_PAGEABLE)
        return;
    struct address_info next = {.kind = ADDRESS_UNALLOCATED};
    if (bytes > a->bytes_left)
        next = next_mapping(a);
    if (next.kind == ADDRESS_ALLOCATED) {
        check_use(call, &next, (const char *)address + a->bytes_left, bytes - a->bytes_left, op,
                  write, copy);
        bytes = a->bytes_left;
    }
    struct shadow_ref ref = memory_shadow(a);
    size_t offset = a->inner_offset;
    checker_used(call, ref, op->stream, op->seq, offset,
                 bytes > SIZE_MAX - offset ? SIZE_MAX : offset + bytes, write);
    if (a->pool && a->pool->device != op->stream->device
        && memory_peer_accessible(a, op->stream->device))
        checker_peer_used(call, &a->pool->peer_uses, ref, op->stream, op->seq);
}

void command_check_use(const struct call *call, struct address_info *a, const void *address,
                       size_t bytes, const struct op *op, bool write)
{
    NEEDS_LOCK();
    check_use(call, a, address, bytes, op, write, false);
}

/* For work that fails only when it runs: a kernel, or a memset whose access was revoked after it
 * was queued. Other copies and memsets were rejected by their call. */
void command_check_peer_access(const struct call *call, struct address_info *a, const struct op *op)
{
    int device = op->stream->device;
    if (a->kind != ADDRESS_ALLOCATED || a->range->free_pending || a->heap->is_virtual)
        return;
    if (!memory_peer_accessible(a, device))
        checker_peer_use_pending(call, memory_owner(a), memory_shadow(a), op->stream, op->seq);
    else if (!a->pool && !a->heap->host_visible && !a->heap->imported && a->heap->device != device)
        checker_peer_used(call, memory_peer_uses(a->heap->device), memory_shadow(a), op->stream,
                          op->seq);
}

/* Reports the use by a copy or memset, for which the host must wait before it touches its side of
 * the copy. */
static void check_guarded_use(const struct call *call, struct address_info *a, const void *address,
                              size_t bytes, struct op *op, bool write, bool copy)
{
    op->operands[write].pinned = a->kind == ADDRESS_PINNED;
    op->operands[write].in_heap = a->heap;
    op->operands[write].accessible = a->heap && memory_peer_accessible(a, op->stream->device);
    check_use(call, a, address, bytes, op, write, copy);
    /* Pages that the program may not write at all stay as they are. */
    if (a->kind != ADDRESS_PINNED || is_read_only(a))
        return;
    struct shadow_ref ref = memory_shadow(a);
    size_t from = a->inner_offset, to = from + bytes;
    /* Registered memory may share its first and last page with other memory. */
    if (a->pinned->registered) {
        from = page_up((uintptr_t)address) - (uintptr_t)ref.address;
        to = page_down((uintptr_t)address + bytes) - (uintptr_t)ref.address;
    }
    if (from < to)
        checker_copied(call, ref, op->stream, op->seq, from, to, write);
}

/* Reports the use of rows. Each row is an access, because the bytes between rows are not touched.
 */
static void check_guarded_rows(const struct call *call, struct address_info *a, const void *address,
                               struct rows r, struct op *op, bool write, bool copy)
{
    size_t pitch = write ? r.to_pitch : r.from_pitch;
    if (pitch == r.width)
        r = rows_of(r.width * r.height);
    check_guarded_use(call, a, address, r.width, op, write, copy);
    for (size_t i = 1; i < r.height; i++) {
        const char *row = (const char *)address + i * pitch;
        struct address_info at_row = memory_find(row);
        check_guarded_use(call, &at_row, row, r.width, op, write, copy);
    }
}

/* Reports the use of a copy's source that is staged. Only a host pool's memory has a shadow. */
static void check_staged_use(const struct call *call, struct address_info *a, size_t bytes,
                             const struct op *op)
{
    if (a->kind != ADDRESS_ALLOCATED)
        return;
    struct shadow_ref ref = memory_shadow(a);
    size_t offset = a->inner_offset;
    checker_staged(call, ref, op->stream, op->seq, offset, offset + bytes);
}
static void check_staged_rows(const struct call *call, struct address_info *a, const void *address,
                              struct rows r, const struct op *op)
{
    check_staged_use(call, a, r.width, op);
    for (size_t i = 1; i < r.height; i++) {
        struct address_info at_row = memory_find((const char *)address + i * r.from_pitch);
        check_staged_use(call, &at_row, r.width, op);
    }
}

/* Reports a call that is rejected because its memory was freed, which is the program's mistake. */
static cudaError_t refuse(const struct call *call, const struct address_info *a,
                          const void *address, size_t bytes, struct stream *s, bool write,
                          bool copy)
{
    if (is_unallocated(a, address, copy))
        checker_used_unallocated(call, address, bytes, s, s->last_seq + 1, write,
                                 memory_allocation_before(a), a->pool && a->pool->graph);
    else if (call->origin.launch && a->kind != ADDRESS_PAGEABLE)
        checker_node_refused(call, memory_shadow(a), s, a->inner_offset, write);
    else if (a->kind == ADDRESS_PAGEABLE && !copy)
        failed_call_because("%p %s", address, command_why_not(a, address, bytes, s->device, write));
    else if (bytes > a->bytes_left && a->kind != ADDRESS_PAGEABLE)
        failed_call_because("it %s bytes %zu to %zu of allocation %u, which has %zu",
                            write ? "writes" : "reads", a->inner_offset,
                            a->inner_offset + bytes - 1, memory_allocation_id(a),
                            a->inner_offset + a->bytes_left);
    else if (write && is_read_only(a))
        failed_call_because("%p was registered with cudaHostRegisterReadOnly", address);
    return cudaErrorInvalidValue;
}

/* ---- memset ---- */

/* Fills memory that an op may touch with an int. */
static void fill_rows(struct op *op, int value)
{
    struct rows r = op_rows(op);
    struct heap *h = address_map_find(op->to);
    for (size_t i = 0; i < r.height; i++) {
        char *row = op->to + i * r.to_pitch;
        if (h)
            heap_fill(h, (size_t)(row - h->base), r.width, value);
        else
            write_ints(storage_of(row, r.width), value, r.width);
        values_written(op, row, r.width);
    }
    close_registered(op->to, op_span(op, true));
}

/* Returns the int that repeats an element of 1, 2, or 4 bytes. */
static int repeated(int value, unsigned element)
{
    value += settings.add;
    return element == 1 ? (int)(0x01010101u * (uint8_t)value)
         : element == 2 ? (int)(0x00010001u * (uint16_t)value)
                        : value;
}

static void effect_memset(struct op *op)
{
    if (may_touch(op, op->to))
        fill_rows(op, op->value);
}

/* Assumed, also for copies: rows take as long as the same bytes in one piece. */
static struct op *queue_memset(const struct call *call, struct address_info *a, void *to, int value,
                               struct rows r, void (*effect)(struct op *), struct stream *s)
{
    struct op *op = stream_enqueue(s, OP_COMMAND,
                                   time_under_schedule(command_duration(
                                       DURATION_MEMSET, DURATION_MEMSET_GIB, r.width * r.height)));
    if (a->heap && !a->heap->host_visible)
        transfer_new(op, ROUTE_INSIDE, home_of(a), home_of(a));
    check_guarded_rows(call, a, to, r, op, true, false);
    op->name = "memset";
    command_made_by(op, call);
    op->effect = effect;
    op->to = to;
    op->value = value;
    set_rows(op, &r);
    op->allocation_id = memory_allocation_id(a);
    return op;
}

cudaError_t command_memset(const struct call *call, void *to, int value, unsigned element,
                           struct rows r, struct stream *s)
{
    NEEDS_LOCK();
    if (!r.width)
        return cudaSuccess;
    struct address_info a = memory_find(to);
    size_t span = rows_span(&r, r.to_pitch);
    if (a.kind == ADDRESS_PAGEABLE || !is_allowed(&a, span, s->device, ACCESS_MEMSET, true))
        return refuse(call, &a, to, span, s, true, false);
    struct op *op = queue_memset(call, &a, to, repeated(value, element), r, effect_memset, s);
    command_check_peer_access(call, &a, op);
    return cudaSuccess;
}

/* ---- copies ---- */

static void effect_copy(struct op *op)
{
    struct rows r = op_rows(op);
    bool to_is_there = may_touch(op, op->to), from_is_there = op->staged || may_touch(op, op->from);
    if (!to_is_there || !from_is_there)
        return;
    values_copied(op, op->to, op->staged ? NULL : op->from, &r);
    struct heap *to = address_map_find(op->to);
    struct heap *from = op->staged ? NULL : address_map_find(op->from);
    if (from && r.height == 1) {
        size_t offset = (size_t)(op->from - from->base);
        if (to)
            heap_copy(to, (size_t)(op->to - to->base), from, offset, r.width);
        else
            heap_read(from, offset, r.width, storage_of(op->to, r.width));
        close_registered(op->to, r.width);
        return;
    }
    char *target = storage_of(op->to, op_span(op, true));
    const char *source = op->staged ? op->staged : storage_of(op->from, op_span(op, false));
    os_hint_hugepages(target, r.width);
    for (size_t i = 0; i < r.height; i++)
        memmove(target + i * r.to_pitch, source + i * (op->staged ? r.width : r.from_pitch),
                r.width);
    close_registered(op->to, op_span(op, true));
    close_registered(op->from, op_span(op, false));
}

/* Stages a pageable source, without the gaps between its rows. */
static char *stage(const void *from, const struct rows *r)
{
    char *staged = os_allocate(r->width * r->height);
    for (size_t i = 0; i < r->height; i++)
        memcpy(staged + i * r->width, storage_of((const char *)from + i * r->from_pitch, r->width),
               r->width);
    return staged;
}

/* The kind only restricts where pageable memory and a host pool's memory may be. Otherwise the
 * location of the bytes decides. */
static bool kind_allows(enum cudaMemcpyKind kind, const struct address_info *to,
                        const struct address_info *from)
{
    bool to_pageable = to->kind == ADDRESS_PAGEABLE || is_host_pool_range(to),
         from_pageable = from->kind == ADDRESS_PAGEABLE || is_host_pool_range(from);
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return !(to_device && to_pageable) && !(from_device && from_pageable);
}

static bool is_on_device(const struct address_info *a)
{
    return a->heap && !memory_is_host_pool(a);
}

/* Returns whether the memory is managed. Managed memory stays on no device, and the host may have
 * its pages. */
static bool is_managed(const struct address_info *a) { return a->heap && a->heap->host_visible; }

/* Returns the device of device memory. Assumed: managed memory is on the stream's device. */
static int device_of(const struct address_info *a, const struct stream *s)
{
    return is_managed(a) ? s->device : home_of(a);
}

/* Returns whether one of two devices may touch the other's memory. Then a copy between them goes
 * directly (assumed). */
static bool is_direct(const struct address_info *to, const struct address_info *from,
                      const struct stream *s)
{
    return memory_peer_accessible(to, device_of(from, s))
        || memory_peer_accessible(from, device_of(to, s));
}

static time_ns upload_time(const struct address_info *from, size_t bytes)
{
    size_t fast = bytes < PAGEABLE_FAST * MiB ? bytes : PAGEABLE_FAST * MiB;
    if (from->kind == ADDRESS_PAGEABLE)
        return command_duration(DURATION_H2D_SMALL, DURATION_H2D_PAGEABLE_FAST_GIB, fast)
             + command_duration(0, DURATION_H2D_PAGEABLE_GIB, bytes - fast);
    return command_duration(bytes > H2D_SMALL_MAX ? DURATION_H2D : DURATION_H2D_SMALL,
                            DURATION_H2D_GIB, bytes);
}

static time_ns copy_time(const struct address_info *to, const struct address_info *from,
                         size_t bytes, const struct stream *s)
{
    bool up = is_on_device(to), down = is_on_device(from),
         pageable = from->kind == ADDRESS_PAGEABLE || to->kind == ADDRESS_PAGEABLE;
    if (up && down && device_of(to, s) == device_of(from, s))
        return command_duration(DURATION_D2D, DURATION_D2D_GIB, bytes);
    if (up && down)
        return is_direct(to, from, s)
                 ? command_duration(DURATION_PEER, DURATION_PEER_GIB, bytes)
                 : command_duration(DURATION_STAGED, DURATION_STAGED_GIB, bytes);
    if (!pageable && ((up && is_managed(to)) || (down && is_managed(from))))
        return command_duration(DURATION_D2H, DURATION_MANAGED_GIB, bytes);
    if (up)
        return upload_time(from, bytes);
    return command_duration(DURATION_D2H, pageable ? DURATION_D2H_PAGEABLE_GIB : DURATION_D2H_GIB,
                            bytes);
}

/* Assigns a copy the engine that it needs. A copy with pageable memory needs none, because it is
 * made in small pieces between which others run (assumed); nor does a copy within host memory. */
static void set_route(struct op *op, const struct address_info *to, const struct address_info *from)
{
    const struct stream *s = op->stream;
    if (is_on_device(to) && is_on_device(from)) {
        int here = device_of(from, s), there = device_of(to, s);
        enum route route = here == there          ? ROUTE_INSIDE
                         : is_direct(to, from, s) ? ROUTE_OUT
                                                  : ROUTE_STAGED;
        transfer_new(op, route, here, there);
    } else if (is_on_device(to) && from->kind != ADDRESS_PAGEABLE) {
        int device = device_of(to, s);
        transfer_new(op, is_managed(to) ? ROUTE_BOTH : ROUTE_UP, device, device);
    } else if (is_on_device(from) && to->kind != ADDRESS_PAGEABLE) {
        int device = device_of(from, s);
        transfer_new(op, is_managed(from) ? ROUTE_BOTH : ROUTE_DOWN, device, device);
    }
}

const char *command_copy_direction(const struct address_info *to, const struct address_info *from)
{
    NEEDS_LOCK();
    if (is_on_device(to))
        return is_on_device(from) ? "DeviceToDevice" : "HostToDevice";
    return is_on_device(from) ? "DeviceToHost" : "HostToHost";
}

/* Documented (CUDA Programming Guide, peer-to-peer memory copy): in the legacy stream, a copy
 * between two devices comes after all earlier and before all later work of both devices. Assumed:
 * non-blocking streams are excepted, as always in a legacy stream, and so is a node of a graph,
 * because the rule is about copies in the default stream, and a node is in no stream. */
static void order_with_device(const struct call *call, struct stream *s,
                              const struct address_info *one, const struct address_info *other,
                              bool is_before)
{
    bool both = s->kind == STREAM_LEGACY && !call->origin.launch && is_on_device(one)
             && is_on_device(other) && !one->heap->host_visible && !other->heap->host_visible;
    if (!both || home_of(one) == home_of(other) || home_of(one) == s->device)
        return;
    struct stream *legacy = stream_legacy(home_of(one));
    if (is_before)
        stream_follow(s, legacy);
    else
        stream_follow(legacy, s);
}

/* Returns whether several rows extend beyond host memory whose end a copy does not know. They may
 * continue as far as there is memory, as a single row may (measured: probe-endless.txt,
 * "one_more_down", "one_more_up"; probe-pools.txt, "copies_host"). */
static bool are_rows_endless(const struct address_info *a, const void *address,
                             const struct rows *r, size_t pitch, const struct stream *s)
{
    size_t span = rows_span(r, pitch);
    if (r->height == 1 || !is_pageable(a, s->device))
        return false;
    if (a->kind == ADDRESS_PAGEABLE)
        return span > UINTPTR_MAX - (uintptr_t)address || !memory_host_has(address, span);
    return !heap_is_mapped(a->heap, a->offset, span);
}

/* Ends the process (measured: probe-endless.txt, "many_from_pool", "many_to_pool", "round_the_end",
 * "ordinary_memory"). The simulation looks at each row, so their number must be bounded. */
static void stop_at_endless_rows(const struct call *call)
{
    fatal_hazard(HAZARD_ROWS_WITHOUT_END, call->origin.call,
                 "The rows of %s reach beyond the memory of the host. A real "
                 "driver dies of SIGSEGV here.\n"
                 "  To do:     give the pitch and the height of the memory.",
                 call->origin.call);
}

/* Returns whether one end of a copy is rejected. Assumed: freed pinned memory is; a real driver
 * crashes with SIGSEGV (measured: probe-host.txt, "freed pinned memory"). */
static bool is_end_refused(const struct address_info *a, const void *address, const struct rows *r,
                           size_t pitch, const struct stream *s, enum access_rule rule, bool write)
{
    return !is_allowed(a, rows_span(r, pitch), s->device, rule, write)
        || (is_pageable(a, s->device) && is_unallocated(a, address, true));
}

bool command_refuses_copy(const void *to, const void *from, struct rows r, const struct stream *s)
{
    NEEDS_LOCK();
    if (!to || !from)
        return true;
    struct address_info t = memory_find(to), f = memory_find(from);
    return is_end_refused(&t, to, &r, r.to_pitch, s, ACCESS_PEER_COPY, true)
        || is_end_refused(&f, from, &r, r.from_pitch, s, ACCESS_PEER_COPY, false);
}

/* Rejects a copy if one end is rejected, even if the rows at the other end are endless (measured:
 * probe-endless.txt, "many_to_device"). */
static cudaError_t check_ends(const struct call *call, void *to, const void *from,
                              const struct rows *r, struct stream *s, const struct address_info *t,
                              const struct address_info *f, enum access_rule rule)
{
    if (is_end_refused(t, to, r, r->to_pitch, s, rule, true))
        return refuse(call, t, to, rows_span(r, r->to_pitch), s, true, true);
    if (is_end_refused(f, from, r, r->from_pitch, s, rule, false))
        return refuse(call, f, from, rows_span(r, r->from_pitch), s, false, true);
    return cudaSuccess;
}

/* Returns what an asynchronous copy waits for when its source was not staged at the call. A copy
 * from host to host waits (documented, and measured: probe-host.txt), unless one side is in a pool
 * or managed (measured in the same recording). */
static enum copy_wait async_copy_wait(const struct address_info *to,
                                      const struct address_info *from, const struct stream *s)
{
    if ((!to->heap && !from->heap) || is_pageable(to, s->device))
        return COPY_DONE;
    return is_pageable(from, s->device) ? COPY_STAGED : COPY_QUEUED;
}

cudaError_t command_copy(const struct call *call, void *to, const void *from, struct rows r,
                         enum cudaMemcpyKind kind, struct stream *s, enum copy_wait *wait)
{
    NEEDS_LOCK();
    if (wait)
        *wait = COPY_QUEUED;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!r.width)
        return cudaSuccess;
    if (!to || !from) {
        failed_call_because("its %s is a null pointer", to ? "source" : "target");
        return cudaErrorInvalidValue;
    }
    size_t bytes = r.width * r.height;
    struct address_info t = memory_find(to), f = memory_find(from);
    cudaError_t e = check_ends(call, to, from, &r, s, &t, &f, copy_rule(&r, wait));
    if (e)
        return e;
    if (!kind_allows(kind, &t, &f)) {
        failed_call_because("its direction is not that of its two addresses");
        return cudaErrorInvalidValue;
    }
    if (are_rows_endless(&t, to, &r, r.to_pitch, s)
        || are_rows_endless(&f, from, &r, r.from_pitch, s))
        stop_at_endless_rows(call);
    bool staged = wait && is_pageable(&f, s->device) && is_on_device(&t) && bytes <= STAGED_MAX;
    order_with_device(call, s, &t, &f, true);
    order_with_device(call, s, &f, &t, true);
    struct op *op = stream_enqueue(s, OP_COMMAND, time_under_schedule(copy_time(&t, &f, bytes, s)));
    set_route(op, &t, &f);
    order_with_device(call, s, &t, &f, false);
    order_with_device(call, s, &f, &t, false);
    if (staged)
        check_staged_rows(call, &f, from, r, op);
    else
        check_guarded_rows(call, &f, from, r, op, false, true);
    check_guarded_rows(call, &t, to, r, op, true, true);
    op->name = "copy";
    command_made_by(op, call);
    op->effect = effect_copy;
    op->to = to;
    op->from = from;
    set_rows(op, &r);
    op->allocation_id = t.heap || !f.heap ? memory_allocation_id(&t) : memory_allocation_id(&f);
    if (staged)
        op->staged = stage(from, &r);
    else if (wait)
        *wait = async_copy_wait(&t, &f, s);
    return cudaSuccess;
}

/* Documented: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS. */
static bool always_waits(const struct address_info *a)
{
    return memory_allocation_id(a) && memory_shadow(a).shadow->always_waits;
}

enum copy_wait command_blocking_copy_wait(const void *to, const void *from)
{
    NEEDS_LOCK();
    struct address_info t = memory_find(to), f = memory_find(from);
    if (always_waits(&t) || always_waits(&f))
        return COPY_DONE;
    if (t.heap && f.heap && !t.heap->host_visible && !f.heap->host_visible)
        return COPY_QUEUED;
    return t.heap && !t.heap->host_visible && f.kind == ADDRESS_PAGEABLE ? COPY_STAGED : COPY_DONE;
}

bool command_memset_blocks(const void *to)
{
    NEEDS_LOCK();
    struct address_info a = memory_find(to);
    return a.kind == ADDRESS_PINNED || (a.heap && a.heap->host_visible) || always_waits(&a);
}

bool command_allows_memset(const void *to, size_t bytes, int device)
{
    NEEDS_LOCK();
    struct address_info a = memory_find(to);
    return a.kind != ADDRESS_PAGEABLE && is_allowed(&a, bytes, device, ACCESS_MEMSET, true);
}

bool command_allows_copy(const void *address, size_t bytes, int device, bool write)
{
    NEEDS_LOCK();
    struct address_info a = memory_find(address);
    return is_allowed(&a, bytes, device, ACCESS_COPY, write);
}

bool command_kind_allows(enum cudaMemcpyKind kind, const void *to, const void *from)
{
    NEEDS_LOCK();
    struct address_info t = memory_find(to), f = memory_find(from);
    return kind_allows(kind, &t, &f);
}

/* ---- kernels and memset nodes ---- */

/* Returns whether running work may touch bytes that no call has checked. `device` is the one whose
 * access it needs, or NO_DEVICE. Returns false after a fault. */
static bool is_there(const struct op *op, const void *address, size_t bytes, int device, bool write)
{
    struct address_info a = memory_find(address);
    const char *why = command_why_not(&a, address, bytes, device, write);
    if (why)
        fault_at(op, cudaErrorIllegalAddress, address, why, !means_no_access(why));
    return !why;
}

char *command_resolve(const struct op *op, const void *address, size_t bytes, bool write)
{
    return is_there(op, address, bytes, op->stream->device, write) ? storage_of(address, bytes)
                                                                   : NULL;
}

/* Returns whether a running kernel may touch its ints. */
static bool are_ints_there(struct op *op)
{
    if ((uintptr_t)op->to % sizeof(int) == 0)
        return is_there(op, op->to, op->bytes, op->stream->device, true);
    fault_at(op, cudaErrorMisalignedAddress, op->to, "is no multiple of 4", true);
    return false;
}

static void effect_node(struct op *op)
{
    if (is_there(op, op->to, op_span(op, true), NO_DEVICE, true))
        fill_rows(op, op->value);
}

void command_memset_node(const struct call *call, void *to, int value, unsigned element,
                         struct rows r, struct stream *s)
{
    NEEDS_LOCK();
    struct address_info a = memory_find(to);
    queue_memset(call, &a, to, repeated(value, element), r, effect_node, s);
}

static void effect_fill(struct op *op)
{
    if (are_ints_there(op))
        fill_rows(op, op->value);
}

static void effect_add(struct op *op)
{
    if (!are_ints_there(op))
        return;
    struct heap *h = address_map_find(op->to);
    values_used(op, op->to, op->bytes, true);
    values_written(op, op->to, op->bytes);
    if (h)
        heap_add(h, (size_t)(op->to - h->base), op->bytes, op->value);
    else
        add_to_ints(storage_of(op->to, op->bytes), op->value, op->bytes);
}

cudaError_t command_write_ints(const struct call *call, bool adds, int *data, int value,
                               size_t count, struct stream *s)
{
    NEEDS_LOCK();
    if (!count)
        return cudaSuccess;
    struct address_info a = memory_find(data);
    size_t bytes = count > SIZE_MAX / sizeof *data ? SIZE_MAX - sizeof *data : count * sizeof *data;
    time_ns each_gib = adds ? DURATION_ADD_GIB : DURATION_FILL_GIB;
    struct op *op = stream_enqueue(
        s, OP_COMMAND, time_under_schedule(command_duration(DURATION_FILL, each_gib, bytes)));
    check_use(call, &a, data, bytes, op, true, false);
    op->name = adds ? "add" : "fill";
    command_made_by(op, call);
    op->effect = adds ? effect_add : effect_fill;
    op->to = (char *)data;
    op->value = value + settings.add;
    op->bytes = bytes;
    op->allocation_id = memory_allocation_id(&a);
    command_check_peer_access(call, &a, op);
    return cudaSuccess;
}

cudaError_t command_hold(const struct call *call, const volatile int *gate, struct stream *s)
{
    NEEDS_LOCK();
    struct address_info a = memory_find((const void *)gate);
    if (a.kind != ADDRESS_PINNED
        && !(a.kind == ADDRESS_ALLOCATED && a.heap->host_visible
             && memory_peer_accessible(&a, s->device))) {
        (void)refuse(call, &a, (const void *)gate, sizeof *gate, s, false, false);
        /* A GPU returns success here and faults when the kernel runs. The simulation knows the
         * reason now. */
        struct op at_call = {.stream = s, .seq = s->last_seq + 1};
        char what[256];
        command_made_by(&at_call, call);
        snprintf(what, sizeof what,
                 "was given the gate %p, which %s, so the device cannot see the host open it",
                 (const void *)gate,
                 a.kind == ADDRESS_ALLOCATED
                     ? "is no memory of a host or managed pool that the device has access to"
                 : gate ? "is no pinned memory of the host"
                        : "is a null pointer");
        command_fault(&at_call, cudaErrorIllegalAddress, what, NULL, true);
        return cudaSuccess;
    }
    struct op *op = stream_enqueue(s, OP_HOLD, 0);
    op->name = "hold";
    command_made_by(op, call);
    /* What the device sees. */
    op->gate = (const volatile int *)storage_of((const void *)gate, sizeof *gate);
    op->from = (const char *)gate;
    /* The gate must exist, but opening it need not be ordered after the hold. */
    check_use(call, &a, op->from, 0, op, false, false);
    op->allocation_id = memory_allocation_id(&a);
    return cudaSuccess;
}

cudaError_t command_host_function(const struct call *call, void (*function)(void *), void *argument,
                                  struct stream *s)
{
    NEEDS_LOCK();
    struct op *op = stream_enqueue_function(s, time_under_schedule(DURATION_HOST_FUNCTION));
    op->name = "host function";
    command_made_by(op, call);
    op->function = function;
    op->argument = argument;
    op->named = (const void *)(uintptr_t)function;
    op->queued_by = call->origin.call;
    op->queued_at = call->origin.launch ? call->origin.launch_site : call->origin.site;
    return cudaSuccess;
}
