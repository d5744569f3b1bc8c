/* The reuse ladder, one rung a function, in the order in which the driver tries them. Worked out
 * from 100 recorded walks (tests/hardware/facts/traces, driver 580.159.04);
 * tests/hardware/facts/README.md says how well it meets them.
 *
 * A free chunk is in the list of the stream that freed it, marked with the place of its free in
 * that stream, or in the common list, which every stream may use. On each rung the best fit wins;
 * among equals, the one that has been there longest. */
#include "mem/reuse.h"

#include <stdlib.h>

#include "mem/device.h"
#include "os/os.h"

static struct range *same_stream(struct heap *h, struct stream *s, size_t bytes)
{
    /* What this stream freed: its order makes the free come first, pending or not. */
    return (struct range *)free_list_best_fit(heap_stream_list(h, s->slot), bytes, UINT64_MAX);
}

static struct range *synchronized(struct heap *h, size_t bytes)
{
    /* What the host has waited for belongs to everybody; it must have physical memory
     * everywhere. */
    return heap_best_shared(h, bytes, true);
}

static struct range *after_event(struct heap *h, struct stream *s, size_t bytes)
{
    /* What another stream freed before an event that this stream waits for. */
    struct free_node *best = NULL;
    for (uint32_t i = 0; i < h->stream_list_count; i++) {
        uint32_t slot = h->stream_lists[i].slot;
        const struct vector_clock *device_order = &s->ordering.device_order;
        if (slot == s->slot || slot >= device_order->slots || !device_order->epochs[slot])
            continue;
        struct free_node *n =
            free_list_best_fit(&h->stream_lists[i].list, bytes, device_order->epochs[slot]);
        if (n
            && (!best || n->bytes < best->bytes
                || (n->bytes == best->bytes && n->insertion < best->insertion)))
            best = n;
    }
    return (struct range *)best;
}

static struct range *opportunistic(struct heap *h, size_t bytes)
{
    /* What another stream freed, if the device has happened to get there; the streams in the order
     * in which they came to the pool. */
    for (uint32_t i = 0; i < h->stream_list_count; i++) {
        struct free_node *n = free_list_best_fit(&h->stream_lists[i].list, bytes,
                                                 stream_of_slot(h->stream_lists[i].slot)->done_seq);
        if (n)
            return (struct range *)n;
    }
    return NULL;
}

static struct range *opportunistic_joined(struct heap *h, size_t bytes)
{
    /* All that the device has got to, of all streams, becomes common: together it may be large
     * enough. */
    bool any = false;
    for (uint32_t i = 0; i < h->stream_list_count; i++)
        any |= reuse_reclaim(h, h->stream_lists[i].slot,
                             stream_of_slot(h->stream_lists[i].slot)->done_seq);
    return any ? synchronized(h, bytes) : NULL;
}

static struct range *grow(struct heap *h, size_t max_segments, size_t bytes, size_t *grown,
                          size_t *remapped, bool *capped)
{
    /* Addresses from the common list, which never ends; for each step of them without physical
     * memory, an idle step elsewhere is remapped, and what still lacks is new. A failed growth does
     * not undo the remapping. */
    struct range *r = heap_best_shared(h, bytes, false);
    if (!r)
        return NULL;
    size_t unmapped = heap_unmapped_count(h, r->offset, bytes), moved = 0;
    size_t from = r->offset / h->segment_size, to = (r->offset + bytes - 1) / h->segment_size + 1,
           idle;
    while (moved < unmapped && (idle = heap_idle_segment(h, false, from, to)) != SIZE_MAX) {
        heap_unmap(h, idle);
        device_give(h->device, h->segment_size);
        moved++;
    }
    *remapped = moved;
    if (max_segments && h->mapped_count + unmapped > max_segments) {
        *capped = true;
        return NULL;
    }
    if (!heap_grow_file(h, r->offset + bytes)
        || !device_take(h->device, unmapped * h->segment_size))
        return NULL;
    *grown = unmapped - moved;
    heap_map(h, r, bytes);
    return r;
}

static struct range *internal_dependency(struct heap *h, struct stream *s, size_t bytes)
{
    /* Any free chunk of another stream: this stream is made to wait for the free. The program does
     * not see that edge. */
    for (uint32_t i = 0; i < h->stream_list_count; i++) {
        if (h->stream_lists[i].slot == s->slot)
            continue;
        struct range *r =
            (struct range *)free_list_best_fit(&h->stream_lists[i].list, bytes, UINT64_MAX);
        if (!r)
            continue;
        stream_wait_internal(s, stream_of_slot(r->slot), r->node.free_seq);
        return r;
    }
    return NULL;
}

struct range *reuse_take(struct heap *h, const struct reuse_policy *policy, struct stream *s,
                         size_t bytes, enum reuse *rung, size_t *grown, size_t *remapped,
                         bool *capped)
{
    struct range *r;
    *grown = *remapped = 0;
    *capped = false;
    if ((r = same_stream(h, s, bytes)))
        *rung = REUSE_SAME_STREAM;
    else if ((r = synchronized(h, bytes)))
        *rung = REUSE_SYNCHRONIZED;
    else if (policy->events && (r = after_event(h, s, bytes)))
        *rung = REUSE_EVENT;
    else if (policy->opportunistic && (r = opportunistic(h, bytes)))
        *rung = REUSE_OPPORTUNISTIC;
    else if (policy->opportunistic && (r = opportunistic_joined(h, bytes)))
        *rung = REUSE_OPPORTUNISTIC;
    else if ((r = grow(h, policy->max_segments, bytes, grown, remapped, capped)))
        *rung = *grown + *remapped ? REUSE_NEW : REUSE_SYNCHRONIZED;
    else if (policy->internal && (r = internal_dependency(h, s, bytes)))
        *rung = REUSE_INTERNAL;
    else
        *rung = REUSE_FAILED;
    return r ? heap_take(h, r, bytes) : NULL;
}

/* ---- bringing home ---- */

static struct range **found;
static size_t found_capacity;

static int latest_first(const void *a, const void *b)
{
    const struct range *x = *(struct range *const *)a, *y = *(struct range *const *)b;
    return (x->node.free_seq < y->node.free_seq) - (x->node.free_seq > y->node.free_seq);
}

bool reuse_reclaim(struct heap *h, uint32_t slot, uint64_t max_seq)
{
    struct free_list *list = heap_stream_list(h, slot);
    if (!free_list_has(list, max_seq))
        return false;
    size_t found_count = 0;
    for (struct free_node *n = free_list_best_fit(list, 0, max_seq); n;
         n = free_list_next(n, max_seq)) {
        if (found_count == found_capacity) {
            found_capacity = found_capacity ? 2 * found_capacity : 256;
            found = os_grow(found, found_capacity * sizeof(struct range *));
        }
        found[found_count++] = (struct range *)n;
    }
    if (found_count > 1)
        qsort(found, found_count, sizeof(struct range *), latest_first);
    for (size_t i = 0; i < found_count; i++)
        heap_make_shared(h, found[i]);
    return true;
}

const char *reuse_name(enum reuse rung)
{
    static const char *const names[] = {"nothing",       "same stream", "synchronized", "event",
                                        "opportunistic", "new",         "internal"};
    return names[rung];
}
