/* The memory of graphs. Each graph has a heap of addresses on each device that its allocation nodes
 * name. A segment of a heap is mapped from the first launch that needs it until
 * cudaDeviceGraphMemTrim or the end of the last executable graph.
 *
 * Rules: nothing is reserved before a launch (measured: one-gpu.txt, "graph memory nodes"); an
 * allocation that no node frees keeps its memory, and a free returns nothing to the device
 * (documented).
 *
 * Invariants (checked by graph_memory_is_valid): those of the heaps and of the physical segments.
 * An allocation that is allocated is the live range at its offset. `users` counts the graph, the
 * nodes of all graphs and executable graphs with its allocations, and the allocated allocations. */
#include "graph/graph_memory.h"

#include "base/list.h"
#include "base/observer.h"
#include "mem/address_map.h"
#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/cost.h"
#include "sched/virtual_time.h"

/* ---- addresses ---- */

/* Freed addresses, for nodes that come after `freed_by`. */
struct graph_va_range {
    struct graph_va_range *next;
    size_t from, bytes;
    struct node *freed_by;
};

/* The addresses of a graph's allocation nodes on one device. Measured (probe-graphs.txt,
 * "graph_addresses"; probe-graph-nodes.txt, "fits"): a node that comes after a free node may get
 * the freed addresses. It gets the smallest free range that is large enough, or else new addresses.
 * Neighboring free ranges are merged if one free node comes after the other. */
struct graph_va {
    /* Addresses that a free node has freed. */
    struct graph_va_range *free_ranges;
    /* No address from this offset on was ever given out. */
    size_t top;
};

/* Takes addresses for a node whose ancestors graph_visit_ancestors has visited. Returns their
 * offset, or SIZE_MAX if no range below `limit` is large enough. */
static size_t graph_va_take(struct graph_va *va, size_t bytes, size_t limit)
{
    struct graph_va_range **best = NULL;
    for (struct graph_va_range **at = &va->free_ranges; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && graph_is_visited((*at)->freed_by)
            && (!best || (*at)->bytes < (*best)->bytes))
            best = at;
    if (!best) {
        if (bytes > limit - va->top)
            return SIZE_MAX;
        va->top += bytes;
        return va->top - bytes;
    }
    struct graph_va_range *r = *best;
    size_t from = r->from;
    r->from += bytes;
    r->bytes -= bytes;
    if (!r->bytes) {
        *best = r->next;
        os_free(r);
    }
    return from;
}

/* Frees addresses for nodes that come after `freed_by`. */
static void graph_va_give(struct graph_va *va, size_t from, size_t bytes, struct node *freed_by)
{
    graph_visit_ancestors(&freed_by, 1);
    for (struct graph_va_range **at = &va->free_ranges; *at;) {
        struct graph_va_range *r = *at;
        bool below = r->from + r->bytes == from, above = r->from == from + bytes;
        if (!(below || above) || !graph_is_visited(r->freed_by)) {
            at = &r->next;
            continue;
        }
        if (below)
            from = r->from;
        bytes += r->bytes;
        *at = r->next;
        os_free(r);
    }
    struct graph_va_range *r = os_allocate(sizeof *r);
    *r = (struct graph_va_range){va->free_ranges, from, bytes, freed_by};
    va->free_ranges = r;
}

/* Frees the list of free ranges. */
static void graph_va_close(struct graph_va *va) { LIST_END(va->free_ranges, os_free); }

/* Returns the bytes of all free ranges that overlap [from, to). */
static size_t graph_va_free_bytes(const struct graph_va *va, size_t from, size_t to)
{
    size_t sum = 0;
    for (const struct graph_va_range *r = va->free_ranges; r; r = r->next)
        if (r->from < to && from < r->from + r->bytes)
            sum += r->bytes;
    return sum;
}

/* ---- graph memories ---- */

struct graph_memory {
    /* The list of all graph memories, and the list of those of the same graph. */
    struct graph_memory *next, *next_of_graph;
    struct pool *pool;
    struct graph_allocation *allocations;
    struct graph_va va;
    struct graph_segments segments;
    size_t users;
    /* The number of users that are nodes of executable graphs. */
    size_t exec_count;
};

/* Needs the lock. All graph memories, from their first allocation node until reap() frees them. */
static struct graph_memory *memories;

/* Return the first and last segment of the heap that the allocation covers. */
static size_t first_segment(const struct graph_allocation *a)
{
    return a->offset / settings.segment;
}
static size_t last_segment(const struct graph_allocation *a)
{
    return (a->offset + a->bytes - 1) / settings.segment;
}

static void observe_segments(const char *what, int device, size_t segments, const char *why)
{
    if (segments && observer.graph_memory_changed)
        observer.graph_memory_changed(device, what, segments,
                                      graph_segments_figures(device)->reserved, why);
}

/* ---- the end ---- */

/* Frees a graph memory that is in no list. */
static void memory_free_parts(struct graph_memory *m)
{
    pool_discard(m->pool);
    for (struct graph_allocation *a = m->allocations, *next; a; a = next) {
        next = a->next;
        os_free(a->access_list);
        os_free(a);
    }
    graph_va_close(&m->va);
    os_free(m->segments.segments);
    os_free(m->segments.previous);
    os_free(m);
}

/* Frees each graph memory that has no users and nothing mapped. Memory that pending work uses stays
 * mapped until a later call. */
static void reap(void)
{
    for (struct graph_memory **at = &memories; *at;) {
        struct graph_memory *m = *at;
        if (!m->exec_count)
            graph_segments_unmap(&m->segments, &m->pool->heap);
        if (m->users || m->pool->heap.mapped_count) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        memory_free_parts(m);
    }
}

void graph_memory_graph_destroyed(struct graph *g)
{
    for (struct graph_memory *m = g->memory; m; m = m->next_of_graph)
        m->users--;
    reap();
}

void graph_allocation_remove_node(struct node *n)
{
    if (n->task.allocation->allocated_by == n)
        n->task.allocation->allocated_by = NULL;
    n->task.allocation->memory->users--;
}

void graph_allocation_add_exec(struct graph_allocation *a)
{
    a->memory->users++;
    a->memory->exec_count++;
}

void graph_allocation_remove_exec(struct graph_allocation *a)
{
    a->memory->users--;
    a->memory->exec_count--;
    reap();
}

void graph_memory_trim(int device)
{
    NEEDS_LOCK();
    for (struct graph_memory *m = memories; m; m = m->next)
        if (m->pool->device == device)
            graph_segments_unmap(&m->segments, &m->pool->heap);
    size_t segments = graph_segments_release(device);
    reap();
    virtual_now += COST_RELEASE_SEGMENT * segments;
    observe_segments("release", device, segments, "trim");
}

/* ---- addresses ---- */

/* Returns the graph's memory on a device, which is made at first, or NULL without addresses for
 * it. */
static struct graph_memory *memory_of(struct graph *g, int device)
{
    for (struct graph_memory *m = g->memory; m; m = m->next_of_graph)
        if (m->pool->device == device)
            return m;
    reap();
    struct graph_memory *m = os_allocate(sizeof *m);
    m->pool = pool_create_for_graph(device, m);
    m->segments.device = device;
    m->users = 1;
    if (!heap_open(&m->pool->heap)) {
        pool_discard(m->pool);
        os_free(m);
        return NULL;
    }
    m->next = memories;
    memories = m;
    m->next_of_graph = g->memory;
    g->memory = m;
    return m;
}

struct graph_allocation *graph_allocation_new(struct graph *g, int device, size_t bytes,
                                              uint32_t peer_rights,
                                              struct node *const *dependencies, size_t count)
{
    NEEDS_LOCK();
    struct graph_memory *m = memory_of(g, device);
    if (!m)
        return NULL;
    size_t offset = SIZE_MAX, limit = m->pool->heap.limit;
    graph_visit_ancestors(dependencies, count);
    if (bytes <= limit - ALIGNMENT)
        offset = graph_va_take(&m->va, round_up(bytes, ALIGNMENT), limit);
    if (offset == SIZE_MAX) {
        pool_diag_no_addresses(m->pool, bytes);
        return NULL;
    }
    struct graph_allocation *a = os_allocate(sizeof *a);
    *a = (struct graph_allocation){.next = m->allocations,
                                   .memory = m,
                                   .offset = offset,
                                   .bytes = bytes,
                                   .peer_rights = peer_rights};
    m->allocations = a;
    /* Documented: more devices may reach an allocation than it asked for. */
    m->pool->peer_rights |= peer_rights;
    return a;
}

static void free_in_graph(struct graph_allocation *a, struct node *n)
{
    a->freed_by = n;
    graph_va_give(&a->memory->va, a->offset, round_up(a->bytes, ALIGNMENT), n);
}

void graph_allocation_add_node(struct node *n)
{
    NEEDS_LOCK();
    n->task.allocation->memory->users++;
    if (n->task.kind == TASK_ALLOCATE)
        n->task.allocation->allocated_by = n;
    else if (n->task.allocation->allocated_by
             && n->task.allocation->allocated_by->graph == n->graph)
        free_in_graph(n->task.allocation, n);
    else
        n->task.allocation->freed_elsewhere = true;
}

void *graph_allocation_address(const struct graph_allocation *a)
{
    NEEDS_LOCK();
    return a->memory->pool->heap.base + a->offset;
}

void graph_allocation_params(struct graph_allocation *a, struct cudaMemAllocNodeParams *p)
{
    NEEDS_LOCK();
    size_t count = 0;
    a->access_list = os_grow(a->access_list, MAX_DEVICES * sizeof *a->access_list);
    for (int d = 0; d < MAX_DEVICES; d++)
        if (a->peer_rights >> d & 1)
            a->access_list[count++] = (struct cudaMemAccessDesc){{cudaMemLocationTypeDevice, d},
                                                                 cudaMemAccessFlagsProtReadWrite};
    *p = (struct cudaMemAllocNodeParams){.poolProps = a->memory->pool->props,
                                         .accessDescs = count ? a->access_list : NULL,
                                         .accessDescCount = count,
                                         .bytesize = a->bytes,
                                         .dptr = graph_allocation_address(a)};
}

/* Returns the graph memory at an address and sets the address's offset there, or returns NULL. */
static struct graph_memory *memory_at(const void *address, size_t *offset)
{
    struct heap *h = address_map_find(address);
    if (!h || !h->pool || !h->pool->graph)
        return NULL;
    *offset = (size_t)((const char *)address - h->base);
    return h->pool->graph;
}

struct graph_allocation *graph_allocation_to_free(struct graph *g, const void *address)
{
    NEEDS_LOCK();
    size_t offset;
    struct graph_memory *m = memory_at(address, &offset);
    for (struct graph_allocation *a = m ? m->allocations : NULL; a; a = a->next) {
        bool same_graph = a->allocated_by && a->allocated_by->graph == g;
        /* Documented: an allocation may be freed once, and either in its own graph or in others.
         * Measured: it does not matter whether its graph has been destroyed or whether it is
         * allocated now (probe-strangers.txt, "free node after the graph"). But its own graph can
         * get no free node for it after the graph was instantiated (probe-graph-changed.txt). */
        bool is_late = same_graph && (a->freed_elsewhere || a->instantiated);
        if (a->offset == offset && !a->freed_by && !is_late)
            return a;
    }
    return NULL;
}

size_t graph_allocation_bytes_left(const void *address)
{
    size_t offset, bytes_left = 0;
    struct graph_memory *m = memory_at(address, &offset);
    for (struct graph_allocation *a = m ? m->allocations : NULL; a; a = a->next)
        if (offset >= a->offset && offset < a->offset + a->bytes
            && a->offset + a->bytes - offset > bytes_left)
            bytes_left = a->offset + a->bytes - offset;
    return bytes_left;
}

size_t graph_memory_bytes_left(const void *address)
{
    size_t offset, end;
    struct graph_memory *m = memory_at(address, &offset);
    if (!m)
        return 0;
    end = round_up(m->va.top, settings.segment);
    return offset < end ? end - offset : 0;
}

/* ---- a launch ---- */

/* Backs one allocation. Returns false if the device has no memory left; then some of the
 * allocation's segments may be backed. */
static bool back_allocation(struct graph_allocation *a, const struct stream *s,
                            const struct vector_clock *before, bool *moved)
{
    size_t grown = 0;
    bool enough = true;
    for (size_t x = first_segment(a); enough && x <= last_segment(a); x++)
        enough = graph_segments_take(&a->memory->segments, x, s, before, &grown, moved);
    if (grown)
        virtual_now += COST_GROW + COST_GROW_SEGMENT * grown;
    observe_segments("grow", a->memory->pool->device, grown, NULL);
    return enough;
}

/* Undoes what a failed launch has taken, and gives unused memory back to `device`, on which the
 * launch failed. */
static void undo_back(struct graph_allocation *const *allocations, size_t count, int device)
{
    for (size_t i = 0; i < count; i++)
        for (size_t x = first_segment(allocations[i]); x <= last_segment(allocations[i]); x++)
            graph_segments_undo(&allocations[i]->memory->segments, x);
    graph_memory_trim(device);
}

bool graph_memory_back(struct graph_allocation *const *allocations, size_t count, struct stream *s,
                       const struct vector_clock *before, bool *moved)
{
    graph_segments_begin_launch();
    for (size_t i = 0; i < count; i++) {
        if (back_allocation(allocations[i], s, before, moved))
            continue;
        undo_back(allocations, i + 1, allocations[i]->memory->pool->device);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t x = first_segment(allocations[i]); x <= last_segment(allocations[i]); x++)
            graph_segments_wait(&allocations[i]->memory->segments, x, s);
    return true;
}

void graph_memory_launched(struct graph_allocation *const *allocations, size_t count,
                           const struct stream *s)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t x = first_segment(allocations[i]); x <= last_segment(allocations[i]); x++)
            graph_segments_used(&allocations[i]->memory->segments, x, s, s->last_seq);
        graph_segments_figures(allocations[i]->memory->pool->device);
    }
}

/* ---- allocations ---- */

static struct shadow_ref shadow_ref_of(const struct graph_allocation *a)
{
    return (struct shadow_ref){&a->range->shadow, a->range->id, graph_allocation_address(a),
                               a->bytes};
}

static void observe_use(const struct call *call, const char *what, const struct graph_allocation *a,
                        const struct stream *s)
{
    if (observer.graph_memory_used)
        observer.graph_memory_used(what, &call->origin, s ? s->id : 0,
                                   (struct observed_range){a->range->id, a->bytes, a->offset});
}

/* Makes the range [offset, offset + bytes) live. The range must lie in one free range. */
static struct range *carve_range(struct heap *h, size_t offset, size_t bytes)
{
    heap_map(h, offset, bytes);
    return heap_take(h, heap_free_at(h, offset, bytes), offset, bytes);
}

static void alloc_now(const struct call *call, struct graph_allocation *a, struct stream *s)
{
    a->range = carve_range(&a->memory->pool->heap, a->offset, round_up(a->bytes, ALIGNMENT));
    a->range->requested = a->bytes;
    a->memory->users++;
    for (size_t x = first_segment(a); x <= last_segment(a); x++)
        graph_segments_hold(&a->memory->segments, x, 1);
    uint64_t seq = stream_enqueue_marker(s, BARRIER_FULL);
    memory_born(call, &a->memory->pool->heap, a->range, ALLOCATION_IN_STREAM, s, seq);
    if (a->last_free.call)
        checker_allocated_again(call, shadow_ref_of(a), s, seq, &a->last_free);
    observe_use(call, "allocate", a, s);
}

static void free_now(const struct call *call, struct graph_allocation *a, struct stream *s,
                     uint64_t seq)
{
    checker_freed(call, shadow_ref_of(a), s, seq);
    a->last_free = checker_origin(call, s, seq);
    observe_use(call, "free", a, s);
    for (size_t x = first_segment(a); x <= last_segment(a); x++) {
        graph_segments_hold(&a->memory->segments, x, -1);
        if (s)
            graph_segments_freed(&a->memory->segments, x, s, seq);
    }
    heap_put(&a->memory->pool->heap, a->range, SHARED_LIST, 0);
    a->range = NULL;
    a->memory->users--;
}

void graph_allocation_free(const struct call *call, struct graph_allocation *a, struct stream *s)
{
    NEEDS_LOCK();
    uint64_t seq = s ? stream_enqueue_marker(s, BARRIER_FULL) : 0;
    if (a->range) {
        free_now(call, a, s, seq);
    } else {
        a->early_free_stream = s;
        a->early_free_seq = seq;
        a->early_free_origin = call->origin;
    }
}

void graph_allocation_alloc(const struct call *call, struct graph_allocation *a, struct stream *s)
{
    alloc_now(call, a, s);
    if (!a->early_free_stream)
        return;
    struct call early;
    early.origin = a->early_free_origin;
    line_close(&early.line);
    free_now(&early, a, a->early_free_stream, a->early_free_seq);
    a->early_free_stream = NULL;
}

struct graph_allocation *graph_allocation_at(const struct address_info *info)
{
    NEEDS_LOCK();
    struct graph_allocation *a = info->pool->graph->allocations;
    while (a->range != info->range)
        a = a->next;
    return a;
}

/* ---- invariants ---- */

/* Returns whether each address that was given out is in one free range, or in one allocation that
 * its graph does not free. */
static bool va_is_valid(const struct graph_memory *m)
{
    size_t sum = graph_va_free_bytes(&m->va, 0, SIZE_MAX);
    for (const struct graph_allocation *a = m->allocations; a; a = a->next) {
        if (a->freed_by)
            continue;
        sum += round_up(a->bytes, ALIGNMENT);
        if (graph_va_free_bytes(&m->va, a->offset, a->offset + a->bytes))
            return false;
    }
    return sum == m->va.top;
}

const char *graph_memory_is_valid(void)
{
    NEEDS_LOCK();
    graph_segments_count_begin();
    for (const struct graph_memory *m = memories; m; m = m->next) {
        const char *broken = heap_is_valid(&m->pool->heap);
        size_t live = 0;
        if (broken)
            return broken;
        graph_segments_count(&m->segments);
        for (const struct graph_allocation *a = m->allocations; a; a = a->next) {
            if (!a->range)
                continue;
            if (heap_find(&m->pool->heap, a->offset) != a->range || a->range->requested != a->bytes)
                return "an allocation of a graph is not the live range at its offset";
            for (size_t x = first_segment(a); x <= last_segment(a); x++)
                graph_segments_count_allocation(&m->segments, x);
            live++;
        }
        if (!va_is_valid(m))
            return "a graph's addresses were given out twice, or lost";
        if (live != m->pool->heap.allocations.count)
            return "a graph's heap has live ranges that are no allocation";
        if (m->users < live)
            return "a graph's memory has more live allocations than users";
    }
    return graph_segments_count_end();
}
