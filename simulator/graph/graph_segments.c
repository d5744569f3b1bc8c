/* The physical memory of graphs, in segments of 32 MiB.
 *
 * Documented (CUDA programming guide, "graph memory nodes", physical memory management): a launch
 * does not get the memory of a graph that may run at the same time, nor memory under an unfreed
 * allocation, and nothing is released by itself.
 *
 * Measured (simulator/tests/facts/probe-graphs.txt, "graph_sizes", "graph_sharing";
 * probe-graph-nodes.txt, "trims"): a launch takes segments whose last use was in its own stream or
 * has ended, whether or not the host has acquired that. An event that orders the other launch first
 * does not count. All reserved memory is reported as used until a trim.
 *
 * Assumed: a graph keeps its segments if their last use happens before the launch. Graphs that
 * share a segment do not see each other's bytes. */
#include "graph/graph_segments.h"

#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"

struct graph_segment {
    struct graph_segment *next;
    /* The epoch of the segment's last use. */
    uint32_t slot;
    uint64_t seq;
    /* If the last use was a free in a stream: the graph that had the allocation; otherwise NULL. */
    const struct graph_segments *freed_by;
    /* The number of allocations on the segment. */
    uint32_t allocations;
    /* The number of segments of graphs' addresses that this one backs. */
    uint32_t graphs;
    /* The last launch that took the segment, and whether it must wait for the use before it. */
    uint64_t launch;
    bool is_awaited;
    /* The numbers that graph_segments_count and graph_segments_count_allocation have counted. */
    uint32_t counted_allocations, counted_graphs;
};

/* Needs the lock. Each device has a list of its physical segments, in the order of their creation.
 * Invariant: a segment's `graphs` is the number of entries of all struct graph_segments that point
 * to it, and its `allocations` is the number of graphs' allocations on it. */
static struct {
    struct {
        struct graph_segment *segments;
        struct graph_figures figures;
    } devices[MAX_DEVICES];
    uint64_t current_launch;
} physical;

static bool last_use_is_over(const struct graph_segment *segment)
{
    return stream_of_slot(segment->slot)->done_seq >= segment->seq;
}

/* ---- figures ---- */

struct graph_figures *graph_segments_figures(int device)
{
    NEEDS_LOCK();
    struct graph_figures *f = &physical.devices[device].figures;
    f->reserved = 0;
    for (struct graph_segment *segment = physical.devices[device].segments; segment;
         segment = segment->next)
        f->reserved += settings.segment;
    f->used = f->reserved;
    if (f->used_high < f->used)
        f->used_high = f->used;
    if (f->reserved_high < f->reserved)
        f->reserved_high = f->reserved;
    return f;
}

/* ---- taking ---- */

void graph_segments_begin_launch(void) { physical.current_launch++; }

/* Returns whether a launch in `s` may take the segment. */
static bool is_available(const struct graph_segment *segment, const struct stream *s)
{
    return !segment->allocations && segment->launch != physical.current_launch
        && (segment->slot == s->slot || last_use_is_over(segment));
}

/* Returns whether a launch, preceded by `before`, may keep a segment that already backs its
 * graph. */
static bool can_keep(const struct graph_segment *segment, const struct stream *s,
                     const struct vector_clock *before)
{
    return is_available(segment, s)
        || (!segment->allocations && segment->launch != physical.current_launch
            && vc_includes(before, segment->slot, segment->seq));
}

static struct graph_segment *find_segment(int device, const struct stream *s, size_t *grown)
{
    struct graph_segment **end = &physical.devices[device].segments;
    for (; *end; end = &(*end)->next)
        if (is_available(*end, s))
            return *end;
    if (!device_take(device, settings.segment))
        return NULL;
    *end = os_allocate(sizeof **end);
    ++*grown;
    return *end;
}

/* Returns whether the launch may keep the segment once a free of its own graph has ended. The
 * launch waits for that free on the device (measured: probe-graph-again.txt,
 * "freed_in_t_pending"). */
static bool can_keep_after_free(const struct graph_segment *segment, const struct graph_segments *b)
{
    return segment->freed_by == b && !segment->allocations
        && segment->launch != physical.current_launch;
}

bool graph_segments_take(struct graph_segments *b, size_t x, const struct stream *s,
                         const struct vector_clock *before, size_t *grown, bool *moved)
{
    if (x >= b->count) {
        b->segments = os_grow(b->segments, (x + 1) * sizeof(struct graph_segment *));
        b->previous = os_grow(b->previous, (x + 1) * sizeof(struct graph_segment *));
        while (b->count <= x)
            b->segments[b->count++] = NULL;
    }
    struct graph_segment *segment = b->segments[x];
    /* Another allocation of this launch is on the segment. */
    if (segment && segment->launch == physical.current_launch)
        return true;
    b->previous[x] = segment;
    bool awaited = false;
    if (segment && !can_keep(segment, s, before) && can_keep_after_free(segment, b)) {
        awaited = true;
    } else if (!segment || !can_keep(segment, s, before)) {
        struct graph_segment *replacement = find_segment(b->device, s, grown);
        if (!replacement)
            return false;
        if (segment)
            segment->graphs--;
        *moved |= segment != NULL;
        replacement->graphs++;
        b->segments[x] = segment = replacement;
    }
    segment->launch = physical.current_launch;
    segment->is_awaited = awaited;
    return true;
}

void graph_segments_wait(struct graph_segments *b, size_t x, struct stream *s)
{
    struct graph_segment *segment = b->segments[x];
    if (segment->is_awaited)
        stream_wait_internal(s, stream_of_slot(segment->slot), segment->seq);
    segment->is_awaited = false;
}

void graph_segments_undo(struct graph_segments *b, size_t x)
{
    if (x >= b->count || !b->segments[x] || b->segments[x]->launch != physical.current_launch)
        return;
    b->segments[x]->graphs--;
    b->segments[x] = b->previous[x];
    if (b->segments[x])
        b->segments[x]->graphs++;
}

void graph_segments_used(struct graph_segments *b, size_t x, const struct stream *s, uint64_t seq)
{
    b->segments[x]->slot = s->slot;
    b->segments[x]->seq = seq;
    b->segments[x]->freed_by = NULL;
}

void graph_segments_freed(struct graph_segments *b, size_t x, const struct stream *s, uint64_t seq)
{
    graph_segments_used(b, x, s, seq);
    b->segments[x]->freed_by = b;
}

void graph_segments_hold(struct graph_segments *b, size_t x, int allocations)
{
    b->segments[x]->allocations += (uint32_t)allocations;
}

/* ---- returning ---- */

void graph_segments_unmap(struct graph_segments *b, struct heap *h)
{
    for (size_t x = 0; x < b->count; x++) {
        struct graph_segment *segment = b->segments[x];
        /* A segment that is not mapped was taken by an upload or by a failed launch, and no work of
         * this graph uses it. */
        bool mapped = segment && heap_is_mapped(h, x * settings.segment, settings.segment);
        if (!segment || (mapped && (!h->idle_owner[x] || !last_use_is_over(segment))))
            continue;
        if (mapped)
            heap_unmap(h, x);
        b->segments[x] = NULL;
        segment->graphs--;
    }
}

size_t graph_segments_release(int device)
{
    size_t released = 0;
    for (struct graph_segment **at = &physical.devices[device].segments; *at;) {
        struct graph_segment *segment = *at;
        if (segment->graphs || segment->allocations || !last_use_is_over(segment)) {
            at = &segment->next;
            continue;
        }
        *at = segment->next;
        os_free(segment);
        device_give(device, settings.segment);
        released++;
    }
    return released;
}

/* ---- invariants ---- */

void graph_segments_count_begin(void)
{
    for (int d = 0; d < MAX_DEVICES; d++)
        for (struct graph_segment *segment = physical.devices[d].segments; segment;
             segment = segment->next)
            segment->counted_allocations = segment->counted_graphs = 0;
}

void graph_segments_count(const struct graph_segments *b)
{
    for (size_t x = 0; x < b->count; x++)
        if (b->segments[x])
            b->segments[x]->counted_graphs++;
}

void graph_segments_count_allocation(const struct graph_segments *b, size_t x)
{
    if (x < b->count && b->segments[x])
        b->segments[x]->counted_allocations++;
}

const char *graph_segments_count_end(void)
{
    for (int d = 0; d < MAX_DEVICES; d++)
        for (struct graph_segment *segment = physical.devices[d].segments; segment;
             segment = segment->next) {
            if (segment->counted_allocations != segment->allocations)
                return "a physical segment has another number of live allocations than it says";
            if (segment->counted_graphs != segment->graphs)
                return "a physical segment backs another number of graphs than it says";
        }
    return NULL;
}
