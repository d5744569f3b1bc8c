/* The reuse ladder, with one function for each rung, in the order in which the driver tries them.
 * It was derived from recorded walks (simulator/tests/facts/walks.txt.gz, driver 580.159.04).
 * simulator/tests/facts/README.md says how well it matches them.
 *
 * A free range is in the list of the stream that freed it, with its free sequence (the position of
 * the free in that stream), or in a shared list, which every stream may use. Within a list the best
 * fit wins and, among equals, the oldest. `after_event`, `opportunistic`, and `internal_dependency`
 * take from the first list that has a range, in the order of the streams' places (stream_place). */
#include "mem/reuse.h"

#include <stdlib.h>

#include "mem/device.h"
#include "mem/pool.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/engine.h"

static bool take_from_device(const struct heap *h, size_t bytes)
{
    return device_take(h->device, bytes)
        || (h->device != NO_DEVICE && pools_make_room(h->device, h)
            && device_take(h->device, bytes));
}

static struct range *same_stream(struct heap *h, struct stream *s, size_t bytes)
{
    /* What this stream freed. Its own order puts the free first, even if that is pending. */
    return heap_best_fit(heap_stream_list(h, s->slot), bytes, UINT64_MAX);
}

static struct range *synchronized(struct heap *h, size_t bytes)
{
    /* What the host has waited for is shared. It must be mapped everywhere. */
    return heap_best_fit(&h->shared, bytes, UINT64_MAX);
}

/* Returns the first list that is not empty, from `list` on, or NULL. The list of a destroyed stream
 * stays empty. */
static struct free_list *used_list(struct heap *h, struct free_list *list)
{
    while (list && !list->ranges.root) {
        struct free_list *next = list->next;
        if (stream_of_slot(list->slot)->destroyed)
            heap_remove_list(h, list);
        list = next;
    }
    return list;
}

static struct range *after_event(struct heap *h, struct stream *s, size_t bytes)
{
    /* What another stream freed before an event that this stream waits for, or before work that the
     * legacy stream's rule puts first. */
    struct vector_clock order = VC_EMPTY;
    struct range *r = NULL;
    stream_gather_order(s, &order);
    struct free_list *list = !vc_is_empty(&order) ? used_list(h, h->stream_lists) : NULL;
    for (; list && !r; list = used_list(h, list->next)) {
        uint64_t epoch = list->slot == s->slot ? 0 : vc_epoch(&order, list->slot);
        if (epoch)
            r = heap_best_fit(list, bytes, epoch);
    }
    vc_clear(&order);
    return r;
}

static struct range *opportunistic(struct heap *h, size_t bytes)
{
    /* What another stream freed, if the device has already reached the free. */
    bool any = false;
    struct free_list *list = h->stream_lists;
    if (h->unreached_at == engine_status.ended)
        return NULL;
    for (; (list = used_list(h, list)); list = list->next) {
        struct range *r =
            heap_best_fit(list, bytes, stream_reached_seq(stream_of_slot(list->slot)));
        if (r)
            return r;
    }
    /* Otherwise all finished frees become shared, because together they may be large enough. */
    for (list = h->stream_lists; list; list = list->next)
        any |= reuse_reclaim(h, list, stream_reached_seq(stream_of_slot(list->slot)));
    h->unreached_at = engine_status.ended;
    return any ? synchronized(h, bytes) : NULL;
}

static struct range *grow(struct heap *h, size_t max_segments, size_t bytes,
                          struct reuse_result *result)
{
    /* Takes addresses from the shared lists, which never run out. Idle segments elsewhere are
     * remapped to replace the missing ones, and the rest is new. A growth that the cap stops leaves
     * what it has mapped until then (measured: walks.txt.gz, capped). */
    struct range *r = heap_best_shared(h, bytes);
    if (!r)
        return NULL;
    size_t unmapped = heap_unmapped_count(h, r->offset, bytes), idle;
    size_t from = r->offset / h->segment_size, to = (r->offset + bytes - 1) / h->segment_size + 1;
    while (h->idle_count && result->remapped < unmapped
           && (idle = heap_idle_segment(h, false, from, to)) != SIZE_MAX) {
        heap_unmap(h, idle);
        device_give(h->device, h->segment_size);
        result->remapped++;
    }
    if (max_segments && h->mapped_count + unmapped > max_segments) {
        result->capped = true;
        size_t room = max_segments > h->mapped_count ? max_segments - h->mapped_count : 0;
        if (take_from_device(h, room * h->segment_size))
            result->grown = heap_map_idle(h, r, room);
        return NULL;
    }
    if (!heap_grow_file(h, r->offset + bytes) || !take_from_device(h, unmapped * h->segment_size))
        return NULL;
    result->grown = unmapped - result->remapped;
    heap_map(h, r->offset, bytes);
    return r;
}

static struct range *internal_dependency(struct heap *h, struct stream *s, size_t bytes)
{
    /* Takes any free range of another stream, and makes this stream wait for the free. The program
     * does not see that edge. */
    for (struct free_list *list = h->stream_lists; list; list = list->next) {
        if (list->slot == s->slot)
            continue;
        struct range *r = heap_best_fit(list, bytes, UINT64_MAX);
        if (!r)
            continue;
        stream_wait_internal(s, stream_of_slot(list->slot), r->free_node.value);
        return r;
    }
    return NULL;
}

struct reuse_result reuse_take(struct heap *h, const struct reuse_policy *policy, struct stream *s,
                               size_t bytes)
{
    struct reuse_result result = {.rung = REUSE_FAILED,
                                  .barrier = policy->events ? BARRIER_FREES : BARRIER_NONE};
    struct range *r;
    if ((r = same_stream(h, s, bytes))) {
        result.rung = REUSE_SAME_STREAM;
        result.barrier = BARRIER_NONE;
    } else if ((r = synchronized(h, bytes))) {
        result.rung = REUSE_SYNCHRONIZED;
        result.barrier = BARRIER_NONE;
    } else if (policy->events && (r = after_event(h, s, bytes))) {
        result.rung = REUSE_EVENT;
    } else if (policy->opportunistic && (r = opportunistic(h, bytes))) {
        result.rung = REUSE_OPPORTUNISTIC;
    } else if ((r = grow(h, policy->max_segments, bytes, &result))) {
        result.rung = result.grown + result.remapped ? REUSE_NEW : REUSE_SYNCHRONIZED;
    } else if (policy->internal && (r = internal_dependency(h, s, bytes))) {
        result.rung = REUSE_INTERNAL;
    }
    if (r)
        result.range = heap_take(h, r, r->offset, bytes);
    return result;
}

/* ---- reclaiming ---- */

/* Needs the lock. Used only within reuse_reclaim, and static so that the list keeps its memory. */
static struct tree_list found;

static int latest_first(const void *a, const void *b)
{
    const struct tree_found *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

bool reuse_reclaim(struct heap *h, struct free_list *list, uint64_t max_seq)
{
    bool all = tree_find_all(&list->ranges, max_seq, &found);
    if (all)
        list->ranges.root = NULL;
    if (found.count > 1)
        qsort(found.items, found.count, sizeof *found.items, latest_first);
    for (size_t i = 0; i < found.count; i++) {
        if (!all)
            tree_remove(&list->ranges, found.items[i].node);
        heap_make_shared(h, range_of_free_node(found.items[i].node));
    }
    return found.count > 0;
}

const char *reuse_name(enum reuse rung)
{
    NEEDS_LOCK();
    static const char *const names[] = {
        "nothing",
#define RUNG(id, name, when, cost, because)            name,
#define RUNG_IF(id, name, policy, when, cost, because) name,
#include "mem/rungs.def"
    };
    return names[rung];
}
