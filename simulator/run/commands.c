/* Work on memory. What a call refuses and what only the running kernel notices is measured (tests/facts/danger.txt 4-6 and 17-19,
 * p2p.txt 1-3, probe-answers.txt "copies and memsets", probe-pools.txt "copies_host"). */
#include "run/commands.h"

#include <string.h>

#include "check/checker.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "os/os.h"
#include "base/journal.h"
#include "mem/address_map.h"

/* measured: a pageable source of up to 2 MiB is copied aside at the call; one of 3 MiB makes the call wait for the stream,
 * and so does any when the copy goes to the host */
#define STAGED_MAX (2 * MiB)

/* The bytes behind an address that was checked before. */
static char *storage(const void *address)
{
    struct pool *pool;
    struct heap *h = space_find(address, &pool);
    if (h) return space_storage(h, (size_t)((const char *)address - h->base));
    struct place p = memory_find(address);
    return p.kind == PLACE_PINNED ? p.pinned->storage + (p.pinned->bytes - p.room) : (char *)address;
}

/* The same for an effect that runs long after its check: meanwhile the memory may have gone back, or access to it may have been taken away. NULL: a
 * fault. measured: a copy has a code of its own, and so has a memset of the host's memory. */
static char *storage_now(struct op *op, const void *address)
{
    struct place p = memory_find(address);
    const char *why = NULL;
    bool write = address == op->to, copy = op->from;
    if (op->was[write].pinned && p.kind != PLACE_PINNED) why = "is pinned memory no more";
    else if (p.heap && !heap_is_mapped(p.heap, p.offset, op->bytes)) why = "has no physical memory: it was freed and has gone back";
    else if (op->was[write].reached && (p.pool || !copy) && !memory_reachable(&p, op->stream->device)) why = "is memory of a device that this one has no access to any more";
    if (!why) return storage(address);
    bool launch = (copy && !(p.heap && p.heap->shared)) || op->was[write].pinned;
    host_say("%s: a %s (stream %d) touched %p, which %s. Every further call returns %s.", launch ? "launch failure" : "illegal address", op->name, op->stream->id,
        address, why, launch ? "cudaErrorLaunchFailure" : "cudaErrorIllegalAddress");
    device_fault(launch ? cudaErrorLaunchFailure : cudaErrorIllegalAddress);
    return NULL;
}

/* measured: for a copy, a block of a host pool is the host's memory. The copy needs no access to it and must not call it the device's; where the
 * device has no access the block is like any other memory of the host, whose end nobody knows */
static bool is_hosts_block(const struct place *p) { return p->kind == PLACE_BLOCK && memory_is_hosts(p); }
static bool is_pageable(const struct place *p, int device) { return p->kind == PLACE_PAGEABLE || (is_hosts_block(p) && !memory_reachable(p, device)); }

/* Is [address, address + bytes) one place that a copy or memset of `device` may touch? measured (lesson 12 on two H200s): for a copy the
 * current device needs access too, even when the memory and the stream are of another one, and the other side is the host's. */
static bool is_allowed(const struct place *p, size_t bytes, int device, bool copy, bool peer)
{
    if (p->kind == PLACE_UNUSED || (peer && is_hosts_block(p))) return false;
    if (copy && is_hosts_block(p)) return bytes <= p->room || is_pageable(p, device);
    if (p->kind != PLACE_PAGEABLE && bytes > p->room) return false;
    /* a copy between devices of cudaMalloc's memory needs no rights: it is staged where they cannot reach each other (documented) */
    return peer || (copy && p->heap && !p->pool) || (memory_reachable(p, device) && (!copy || memory_reachable(p, device_current())));
}

/* Was the place freed, or never allocated? Freed pinned memory is an address of the host where nothing is. */
static bool is_nobodys(const struct place *p, const void *address)
{
    if (p->kind == PLACE_PAGEABLE) return !host_has_memory(address, 1) && checker_was_freed(address);
    return p->kind == PLACE_UNUSED || (p->kind == PLACE_BLOCK && p->chunk->leaving);
}

/* Tells the checker what an op does with a place. */
static void used(struct place *p, const void *address, size_t bytes, const struct op *op, bool write)
{
    size_t at = 0;
    if (is_nobodys(p, address)) checker_used_nothing(address, bytes, op->stream, op->number, write, memory_below(p), p->pool && p->pool->graph);
    if (is_nobodys(p, address) || p->kind == PLACE_PAGEABLE) return;
    struct watched b = memory_watched(p, &at);
    checker_used(b, op->stream, op->number, at, bytes > SIZE_MAX - at ? SIZE_MAX : at + bytes, write);
    if (p->pool && p->pool->device != op->stream->device && memory_reachable(p, op->stream->device)) checker_reached(&p->pool->reaches, b, op->stream, op->number);
}

/* What only fails when it runs: a kernel, a node, a memset whose access is taken meanwhile. A copy or a memset that may not touch the place has been
 * refused. */
static void need_access(struct place *p, const struct op *op)
{
    int device = op->stream->device;
    if (p->kind != PLACE_BLOCK || is_nobodys(p, op->to)) return;
    if (!memory_reachable(p, device)) checker_lacks_access(memory_owner(p), memory_watched(p, NULL), op->stream, op->number);
    else if (!p->pool && !p->heap->shared && p->heap->device != device) checker_reached(memory_reaches(p->heap->device), memory_watched(p, NULL), op->stream, op->number);
}

/* The same for a copy or a memset, which the host must wait for before it touches its side. */
static void used_and_guarded(struct place *p, const void *address, size_t bytes, struct op *op, bool write)
{
    size_t at;
    op->was[write].pinned = p->kind == PLACE_PINNED;
    op->was[write].reached = p->heap && memory_reachable(p, op->stream->device);
    used(p, address, bytes, op, write);
    if (p->kind != PLACE_PINNED || p->pinned->registered) return;
    struct watched b = memory_watched(p, &at);
    checker_copied(b, op->stream, op->number, at, at + bytes, write);
}

/* A copy's source that is taken aside at the call: memory of the host, of a pool's block the checker knows. */
static void used_at_call(struct place *p, size_t bytes, const struct op *op)
{
    size_t at;
    if (p->kind != PLACE_BLOCK) return;
    struct watched b = memory_watched(p, &at);
    checker_staged(b, op->stream, op->number, at, at + bytes);
}

/* A call that is refused because its memory was freed is an error of the program all the same. */
static cudaError_t refuse(const struct place *p, const void *address, size_t bytes, struct stream *s, bool write)
{
    if (is_nobodys(p, address)) checker_used_nothing(address, bytes, s, s->last + 1, write, memory_below(p), p->pool && p->pool->graph);
    return cudaErrorInvalidValue;
}

/* ---- memset ---- */

static void effect_memset(struct op *op)
{
    char *to = storage_now(op, op->to);
    if (!to) return;
    host_written_whole(to, op->bytes);
    memset(to, op->value, op->bytes);
}

static void queue_memset(struct place *p, void *to, int value, size_t bytes, void (*effect)(struct op *), struct stream *s)
{
    struct op *op = stream_enqueue(s, OP_WORK, clock_pace(work_time(WORK_MEMSET, WORK_MEMSET_GIB, bytes)));
    used_and_guarded(p, to, bytes, op, true);
    op->name = "memset";
    op->effect = effect;
    op->to = to;
    op->value = value;
    op->bytes = bytes;
    op->block = memory_block(p);
    need_access(p, op);
}

cudaError_t work_memset(void *to, int value, size_t bytes, struct stream *s)
{
    if (!bytes) return cudaSuccess;
    struct place p = memory_find(to);
    journal_number("block", memory_block(&p));
    if (p.kind == PLACE_PAGEABLE || !is_allowed(&p, bytes, s->device, false, false)) return refuse(&p, to, bytes, s, true);
    queue_memset(&p, to, value, bytes, effect_memset, s);
    return cudaSuccess;
}

/* ---- copies ---- */

static void effect_copy(struct op *op)
{
    char *to = storage_now(op, op->to);
    const char *from = op->staged ? op->staged : storage_now(op, op->from);
    if (!to || !from) return;
    host_written_whole(to, op->bytes);
    memmove(to, from, op->bytes);
}

/* The kind only says what pageable memory and a host pool's is not allowed for; where the bytes are decides the rest. */
static bool kind_allows(enum cudaMemcpyKind kind, const struct place *to, const struct place *from)
{
    bool to_pageable = to->kind == PLACE_PAGEABLE || is_hosts_block(to), from_pageable = from->kind == PLACE_PAGEABLE || is_hosts_block(from);
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return !(to_device && to_pageable) && !(from_device && from_pageable);
}

static bool is_on_device(const struct place *p) { return p->heap && !memory_is_hosts(p); }

static time_ns copy_time(const struct place *to, const struct place *from, size_t bytes)
{
    if (is_on_device(to) && is_on_device(from)) return work_time(WORK_COPY, WORK_COPY_GIB, bytes);
    if (is_on_device(to)) return work_time(WORK_UP, from->kind == PLACE_PAGEABLE ? WORK_UP_PAGEABLE_GIB : WORK_UP_GIB, bytes);
    return work_time(WORK_DOWN, to->kind == PLACE_PAGEABLE ? WORK_DOWN_PAGEABLE_GIB : WORK_DOWN_GIB, bytes);
}

static const char *copy_direction(const struct place *to, const struct place *from)
{
    if (is_on_device(to)) return is_on_device(from) ? "DeviceToDevice" : "HostToDevice";
    return is_on_device(from) ? "DeviceToHost" : "HostToHost";
}

/* documented (CUDA Programming Guide, peer-to-peer memory copy): in the legacy stream, a copy between the memories of two devices comes after all that
 * either device was given before, and before all that it is given later. Chosen: as always in a legacy stream, without the non-blocking ones */
static void order_with_device(struct stream *s, const struct place *one, const struct place *other, bool before)
{
    bool both = s->kind == STREAM_LEGACY && is_on_device(one) && is_on_device(other) && !one->heap->shared && !other->heap->shared;
    if (!both || one->heap->device == other->heap->device || one->heap->device == s->device) return;
    struct stream *theirs = stream_legacy(one->heap->device);
    if (before) stream_follow(s, theirs);
    else stream_follow(theirs, s);
}

cudaError_t work_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, struct stream *s, bool peer, enum copy_wait *wait)
{
    if (wait) *wait = COPY_GOES_ON;
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (!bytes) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    struct place t = memory_find(to), f = memory_find(from);
    journal_text("kind", copy_direction(&t, &f));
    journal_number("block", t.heap || !f.heap ? memory_block(&t) : memory_block(&f));
    if (t.heap && f.heap) journal_number("source_block", memory_block(&f));
    bool to_pageable = is_pageable(&t, s->device), from_pageable = is_pageable(&f, s->device);
    /* chosen: freed pinned memory is refused; a real driver dies of SIGSEGV here (measured) */
    if (!is_allowed(&t, bytes, s->device, true, peer) || (to_pageable && is_nobodys(&t, to))) return refuse(&t, to, bytes, s, true);
    if (!is_allowed(&f, bytes, s->device, true, peer) || (from_pageable && is_nobodys(&f, from))) return refuse(&f, from, bytes, s, false);
    if (!kind_allows(kind, &t, &f)) return cudaErrorInvalidValue;
    bool staged = wait && from_pageable && is_on_device(&t) && bytes <= STAGED_MAX;
    order_with_device(s, &t, &f, true);
    order_with_device(s, &f, &t, true);
    struct op *op = stream_enqueue(s, OP_WORK, clock_pace(copy_time(&t, &f, bytes)));
    order_with_device(s, &t, &f, false);
    order_with_device(s, &f, &t, false);
    if (staged) used_at_call(&f, bytes, op);
    else used_and_guarded(&f, from, bytes, op, false);
    used_and_guarded(&t, to, bytes, op, true);
    op->name = "copy";
    op->effect = effect_copy;
    op->to = to;
    op->from = from;
    op->bytes = bytes;
    op->block = t.heap || !f.heap ? memory_block(&t) : memory_block(&f);
    if (!wait) return cudaSuccess;
    if (!t.heap && !f.heap) {
        *wait = COPY_IS_OVER;          /* documented and measured: from the host to the host; but not where one side is a pool's or managed (measured) */
    } else if (staged) {
        op->staged = host_allocate(bytes);
        memcpy(op->staged, storage(from), bytes);
    } else if (to_pageable || from_pageable) {
        *wait = to_pageable ? COPY_IS_OVER : COPY_IS_STAGED;
    }
    return cudaSuccess;
}

enum copy_wait work_wait_of_blocking_copy(const void *to, const void *from)
{
    struct place t = memory_find(to), f = memory_find(from);
    if (t.heap && f.heap && !t.heap->shared && !f.heap->shared) return COPY_GOES_ON;
    return t.heap && !t.heap->shared && f.kind == PLACE_PAGEABLE ? COPY_IS_STAGED : COPY_IS_OVER;
}

bool work_blocking_memset_waits(const void *to)
{
    struct place p = memory_find(to);
    return p.kind == PLACE_PINNED || (p.heap && p.heap->shared);
}

bool work_allows(const void *address, size_t bytes, int device, bool copy, bool peer)
{
    struct place p = memory_find(address);
    return (copy || p.kind != PLACE_PAGEABLE) && is_allowed(&p, bytes, device, copy, peer);
}

bool work_kind_allows(enum cudaMemcpyKind kind, const void *to, const void *from)
{
    struct place t = memory_find(to), f = memory_find(from);
    return kind_allows(kind, &t, &f);
}

/* ---- kernels and memset nodes ---- */

/* The bytes that running work touches, which nobody has checked before; NULL after a fault. */
static char *reach(struct op *op, const char *what)
{
    struct place p = memory_find(op->to);
    const char *why = NULL;
    if (p.kind == PLACE_PINNED && op->bytes <= p.room) return storage(op->to);
    if (p.kind == PLACE_PINNED) why = "is pinned memory of the host, but ends before the range does";
    else if (p.kind == PLACE_PAGEABLE) why = "is memory of the host that is not pinned";
    else if (!memory_reachable(&p, op->stream->device)) why = p.heap->shared ? "is in a pool of the host that this device has no access to (cudaMemPoolSetAccess)" : "is memory of a device that this one has no access to";
    else if (!heap_is_mapped(p.heap, p.offset, op->bytes)) why = "has no physical memory: it was never allocated, or it was freed and has gone back";
    if (!why) {
        host_written_whole(space_storage(p.heap, p.offset), op->bytes);
        return space_storage(p.heap, p.offset);
    }
    host_say("illegal address: a %s (%s, stream %d) touched %p, which %s. Every further call returns cudaErrorIllegalAddress.", what, op->name, op->stream->id, (void *)op->to, why);
    device_fault(cudaErrorIllegalAddress);
    return NULL;
}

/* The ints that a running kernel touches, or NULL after a fault. */
static int *touch(struct op *op)
{
    if ((uintptr_t)op->to % sizeof(int) == 0) return (int *)reach(op, "kernel");
    host_say("a kernel (%s) used %p, which is no multiple of %zu.", op->name, (void *)op->to, sizeof(int));
    device_fault(cudaErrorMisalignedAddress);
    return NULL;
}

static void effect_node_1(struct op *op)
{
    char *to = reach(op, "node");
    if (to) memset(to, op->value, op->bytes);
}

/* Writes a value again and again: what is written already is copied, in pieces that stay in the cache, two or three times as fast as one value after another. */
static void repeat(void *to, const void *value, size_t size, size_t bytes)
{
    char *start = to;
    if (!to || !bytes) return;
    memcpy(start, value, size);
    for (size_t done = size, piece; done < bytes; done += piece) {
        piece = done < 4 * MiB ? done : 4 * MiB;
        if (piece > bytes - done) piece = bytes - done;
        memcpy(start + done, start, piece);
    }
}

static void effect_node_2(struct op *op)
{
    uint16_t value = (uint16_t)op->value;
    repeat(reach(op, "node"), &value, sizeof value, op->bytes);
}

static void effect_node_4(struct op *op) { repeat(reach(op, "node"), &op->value, sizeof op->value, op->bytes); }

void work_memset_node(void *to, int value, unsigned element, size_t count, struct stream *s)
{
    struct place p = memory_find(to);
    journal_number("block", memory_block(&p));
    queue_memset(&p, to, value, element * count, element == 1 ? effect_node_1 : element == 2 ? effect_node_2 : effect_node_4, s);
}

static void effect_fill(struct op *op) { repeat(touch(op), &op->value, sizeof op->value, op->bytes); }

static void effect_add(struct op *op)
{
    int *data = touch(op), value = op->value;
    for (size_t i = 0; data && i < op->bytes / sizeof *data; i++) data[i] += value;
}

static cudaError_t launch(const char *name, void (*effect)(struct op *), time_ns each_gib, int *data, int value, size_t count, struct stream *s)
{
    if (!count) return cudaSuccess;
    struct place p = memory_find(data);
    size_t bytes = count > SIZE_MAX / sizeof *data ? SIZE_MAX - sizeof *data : count * sizeof *data;
    journal_number("block", memory_block(&p));
    struct op *op = stream_enqueue(s, OP_WORK, clock_pace(work_time(WORK_FILL, each_gib, bytes)));
    used(&p, data, bytes, op, true);
    op->name = name;
    op->effect = effect;
    op->to = (char *)data;
    op->value = value;
    op->bytes = bytes;
    op->block = memory_block(&p);
    need_access(&p, op);
    return cudaSuccess;
}

cudaError_t work_fill(int *data, int value, size_t count, struct stream *s) { return launch("fill", effect_fill, WORK_FILL_GIB, data, value, count, s); }
cudaError_t work_add(int *data, int value, size_t count, struct stream *s) { return launch("add", effect_add, WORK_ADD_GIB, data, value, count, s); }

cudaError_t work_hold(const volatile int *open, struct stream *s)
{
    struct place p = memory_find((const void *)open);
    journal_number("block", memory_block(&p));
    if (p.kind != PLACE_PINNED && !(p.kind == PLACE_BLOCK && p.heap->shared && memory_reachable(&p, s->device))) {
        /* a GPU says nothing here and faults when the kernel runs; the reason is known now */
        host_say("illegal address: launch_hold was given %p, which is no pinned host memory and no block of a host or managed pool that the device has access to, so the device cannot see the host open it.", (const void *)open);
        device_fault(cudaErrorIllegalAddress);
        return cudaSuccess;
    }
    struct op *op = stream_enqueue(s, OP_HOLD, 0);
    op->name = "hold";
    op->gate = (const volatile int *)storage((const void *)open);      /* what the device sees */
    op->from = (const char *)open;
    used(&p, op->from, 0, op, false);  /* the gate must be there; who opens it need not be ordered after the hold */
    op->block = memory_block(&p);
    return cudaSuccess;
}

cudaError_t work_host_function(void (*function)(void *), void *argument, struct stream *s)
{
    struct op *op = stream_enqueue_function(s, clock_pace(WORK_HOST_FUNCTION));
    op->name = "host function";
    op->function = function;
    op->argument = argument;
    return cudaSuccess;
}
