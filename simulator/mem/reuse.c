/* The reuse ladder, one rung a function, in the order in which the driver tries them. Worked out from 100 recorded walks
 * (tests/facts/traces, driver 580.159.04); tests/facts/README.md says how well it meets them.
 *
 * A free chunk is in the list of the stream that freed it, marked with the place of its free in that stream, or in the common list,
 * which every stream may use. On each rung the best fit wins; among equals, the one that has been there longest. */
#include "mem/reuse.h"

#include <stdlib.h>

#include "mem/device.h"
#include "os/os.h"

static struct chunk *same_stream(struct heap *h, struct stream *s, size_t bytes)
{
    /* What this stream freed: its order makes the free come first, pending or not. */
    return (struct chunk *)fit_best(heap_lane(h, s->lane), bytes, UINT64_MAX);
}

static struct chunk *synchronized(struct heap *h, size_t bytes)
{
    /* What the host has waited for belongs to everybody; it must have physical memory everywhere. */
    return heap_best_common(h, bytes, true);
}

static struct chunk *after_event(struct heap *h, struct stream *s, size_t bytes)
{
    /* What another stream freed before an event that this stream waits for. */
    struct fit *best = NULL;
    for (uint32_t i = 0; i < h->lane_count; i++) {
        uint32_t lane = h->lanes[i].lane;
        const struct order *known = &s->known.dependencies;
        if (lane == s->lane || lane >= known->lanes || !known->reached[lane]) continue;
        struct fit *f = fit_best(&h->lanes[i].fits, bytes, known->reached[lane]);
        if (f && (!best || f->bytes < best->bytes || (f->bytes == best->bytes && f->age < best->age))) best = f;
    }
    return (struct chunk *)best;
}

static struct chunk *opportunistic(struct heap *h, size_t bytes)
{
    /* What another stream freed, if the device has happened to get there; the streams in the order in which they came to the pool. */
    for (uint32_t i = 0; i < h->lane_count; i++) {
        struct fit *f = fit_best(&h->lanes[i].fits, bytes, stream_of_lane(h->lanes[i].lane)->done);
        if (f) return (struct chunk *)f;
    }
    return NULL;
}

static struct chunk *opportunistic_joined(struct heap *h, size_t bytes)
{
    /* All that the device has got to, of all streams, becomes common: together it may be large enough. */
    bool any = false;
    for (uint32_t i = 0; i < h->lane_count; i++) any |= reuse_bring_home(h, h->lanes[i].lane, stream_of_lane(h->lanes[i].lane)->done);
    return any ? synchronized(h, bytes) : NULL;
}

static struct chunk *growth(struct heap *h, size_t max_steps, size_t bytes, size_t *grown, size_t *remapped, bool *capped)
{
    /* Addresses from the common list, which never ends; for each step of them without physical memory, an idle step elsewhere is
     * remapped, and what still lacks is new. A failed growth does not undo the remapping. */
    struct chunk *c = heap_best_common(h, bytes, false);
    if (!c) return NULL;
    size_t missing = heap_missing(h, c->offset, bytes), taken = 0;
    size_t from = c->offset / h->step, to = (c->offset + bytes - 1) / h->step + 1, idle;
    while (taken < missing && (idle = heap_idle_step(h, false, from, to)) != SIZE_MAX) {
        heap_unmap(h, idle);
        device_give(h->device, h->step);
        taken++;
    }
    *remapped = taken;
    if (max_steps && h->mapped_count + missing > max_steps) {
        *capped = true;
        return NULL;
    }
    if (!heap_back(h, c->offset + bytes) || !device_take(h->device, missing * h->step)) return NULL;
    *grown = missing - taken;
    heap_map(h, c, bytes);
    return c;
}

static struct chunk *internal_dependency(struct heap *h, struct stream *s, size_t bytes)
{
    /* Any free chunk of another stream: this stream is made to wait for the free. The program does not see that edge. */
    for (uint32_t i = 0; i < h->lane_count; i++) {
        if (h->lanes[i].lane == s->lane) continue;
        struct chunk *c = (struct chunk *)fit_best(&h->lanes[i].fits, bytes, UINT64_MAX);
        if (!c) continue;
        stream_wait_quietly(s, stream_of_lane(c->lane), c->fit.mark);
        return c;
    }
    return NULL;
}

struct chunk *reuse_take(struct heap *h, const struct reuse_policy *policy, struct stream *s, size_t bytes,
                         enum reuse *how, size_t *grown, size_t *remapped, bool *capped)
{
    struct chunk *c;
    *grown = *remapped = 0;
    *capped = false;
    if ((c = same_stream(h, s, bytes))) *how = REUSE_SAME_STREAM;
    else if ((c = synchronized(h, bytes))) *how = REUSE_SYNCHRONIZED;
    else if (policy->events && (c = after_event(h, s, bytes))) *how = REUSE_EVENT;
    else if (policy->opportunistic && (c = opportunistic(h, bytes))) *how = REUSE_OPPORTUNISTIC;
    else if (policy->opportunistic && (c = opportunistic_joined(h, bytes))) *how = REUSE_OPPORTUNISTIC;
    else if ((c = growth(h, policy->max_steps, bytes, grown, remapped, capped))) *how = *grown + *remapped ? REUSE_NEW : REUSE_SYNCHRONIZED;
    else if (policy->internal && (c = internal_dependency(h, s, bytes))) *how = REUSE_INTERNAL;
    else *how = REUSE_FAILED;
    return c ? heap_take(h, c, bytes) : NULL;
}

/* ---- bringing home ---- */

static struct chunk **found;
static size_t found_capacity;

static int latest_first(const void *a, const void *b)
{
    const struct chunk *x = *(struct chunk *const *)a, *y = *(struct chunk *const *)b;
    return (x->fit.mark < y->fit.mark) - (x->fit.mark > y->fit.mark);
}

bool reuse_bring_home(struct heap *h, uint32_t lane, uint64_t limit)
{
    struct fit_list *list = heap_lane(h, lane);
    if (!fit_has(list, limit)) return false;
    size_t found_count = 0;
    for (struct fit *f = fit_best(list, 0, limit); f; f = fit_next(f, limit)) {
        if (found_count == found_capacity) {
            found_capacity = found_capacity ? 2 * found_capacity : 256;
            found = host_grow(found, found_capacity * sizeof(struct chunk *));
        }
        found[found_count++] = (struct chunk *)f;
    }
    if (found_count > 1) qsort(found, found_count, sizeof(struct chunk *), latest_first);
    for (size_t i = 0; i < found_count; i++) heap_make_common(h, found[i]);
    return true;
}

const char *reuse_name(enum reuse how)
{
    static const char *const names[] = { "nothing", "same stream", "synchronized", "event", "opportunistic", "new", "internal" };
    return names[how];
}
