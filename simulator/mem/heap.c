/* A heap: its beginning and end, its lists of free chunks, and how chunks are cut and become one
 * again. The laws are in mem/heap.h. */
#include "mem/heap_internal.h"

#include "os/os.h"
#include "os/process.h"

/* ---- chunks have numbers ---- */

#define SLAB_RANGES 16384 /* chunks */
#define SLABS_MAX   16384

static struct range *slabs[SLABS_MAX]; /* chunk n is slabs[n / SLAB][n % SLAB] */
static struct range *recycled;
static uint32_t range_count; /* that were ever made */

static struct range *range_at(uint32_t n)
{
    return n == NO_RANGE ? NULL : &slabs[n / SLAB_RANGES][n % SLAB_RANGES];
}

static struct range *range_new(void)
{
    struct range *r = recycled;
    if (r) {
        recycled = r->next;
        return r;
    }
    if (range_count == (uint32_t)SLAB_RANGES * SLABS_MAX)
        os_fatal("more than 268 million allocations are alive or free at once.");
    if (!slabs[range_count / SLAB_RANGES])
        slabs[range_count / SLAB_RANGES] = os_allocate_slab(SLAB_RANGES * sizeof *r);
    r = &slabs[range_count / SLAB_RANGES][range_count % SLAB_RANGES];
    r->index = range_count++;
    return r;
}

static void range_recycle(struct range *r)
{
    r->next = recycled;
    recycled = r;
}

/* ---- opening ---- */

void heap_init(struct heap *h, int device, size_t segment_size, size_t limit)
{
    *h = (struct heap){.device = device, .segment_size = segment_size, .limit = limit};
    size_t words = heap_segment_count(h) / 64 + 1;
    h->mapped = os_allocate(words * sizeof *h->mapped);
    h->idle_owner = os_allocate(heap_segment_count(h) * sizeof *h->idle_owner);
    h->idle = os_allocate(words * sizeof *h->idle);
}

/* A range is far larger than what is allocated in it, so a process that may have few addresses has
 * none for a single block. */
static void diag_no_addresses(const struct heap *h)
{
    static bool reported;
    if (!reported)
        diag("this process has no %zu GiB of addresses left for a pool or for cudaMalloc: they are "
             "limited (ulimit -v, valgrind), or used up by others. "
             "A device with less memory needs fewer: SIM_MEMORY=1G.",
             2 * h->limit / GiB);
    reported = true;
}

bool heap_open(struct heap *h)
{
    if (h->base)
        return true;
    if (!allocation_index_open(&h->allocations, h->limit))
        return false;
    h->base = h->host_visible ? os_reserve_host_visible(h->limit)
            : h->file         ? os_reserve_in_file(h->file, HEAP_FILE_HEADER, h->limit)
                              : os_reserve(h->limit);
    if (!h->base) {
        diag_no_addresses(h);
        allocation_index_close(&h->allocations);
        return false;
    }
    struct range *all = range_new();
    all->node = (struct free_node){.bytes = h->limit, .insertion = ++h->insertions};
    all->offset = 0;
    all->previous = all->next = NULL;
    all->slot = SHARED_LIST;
    all->live = false;
    all->partial = true;
    h->first = all;
    free_list_insert(&h->shared_partial, &all->node);
    return true;
}

void heap_close(struct heap *h)
{
    for (struct range *r = h->first, *next; r; r = next) {
        next = r->next;
        range_recycle(r);
    }
    allocation_index_close(&h->allocations);
    if (h->base)
        os_unreserve(h->base, h->limit);
    os_free(h->mapped);
    os_free(h->idle_owner);
    os_free(h->idle);
    os_free(h->stream_lists);
    os_free(h->stream_list_index);
    h->base = NULL;
}

/* ---- lists ---- */

struct free_list *heap_stream_list(struct heap *h, uint32_t slot)
{
    if (slot >= h->slot_count) {
        uint32_t wanted = slot + 8;
        h->stream_list_index = os_grow(h->stream_list_index, wanted * sizeof *h->stream_list_index);
        for (uint32_t i = h->slot_count; i < wanted; i++)
            h->stream_list_index[i] = UINT32_MAX;
        h->slot_count = wanted;
    }
    if (h->stream_list_index[slot] == UINT32_MAX) {
        h->stream_list_index[slot] = h->stream_list_count;
        h->stream_lists =
            os_grow(h->stream_lists, (h->stream_list_count + 1) * sizeof *h->stream_lists);
        h->stream_lists[h->stream_list_count++] = (struct stream_list){{NULL}, slot};
    }
    return &h->stream_lists[h->stream_list_index[slot]].list;
}

struct free_list *heap_list_of(struct heap *h, const struct range *r)
{
    if (r->slot == SHARED_LIST)
        return r->partial ? &h->shared_partial : &h->shared_mapped;
    return heap_stream_list(h, r->slot);
}

struct range *heap_best_shared(const struct heap *h, size_t bytes, bool mapped)
{
    struct free_node *a = free_list_best_fit(&h->shared_mapped, bytes, UINT64_MAX);
    if (mapped)
        return (struct range *)a;
    struct free_node *b = free_list_best_fit(&h->shared_partial, bytes, UINT64_MAX);
    if (!a || !b)
        return (struct range *)(a ? a : b);
    return (struct range *)(a->bytes < b->bytes
                                    || (a->bytes == b->bytes && a->insertion < b->insertion)
                                ? a
                                : b);
}

/* ---- finding ---- */

struct range *heap_find(const struct heap *h, size_t offset)
{
    if (offset >= h->top_segment * h->segment_size)
        return NULL;
    uint32_t n = offset % ALIGNMENT ? NO_RANGE : allocation_index_find(&h->allocations, offset);
    if (n == NO_RANGE)
        n = allocation_index_find_before(&h->allocations, offset);
    struct range *r = range_at(n);
    if (!r)
        return NULL;
    __builtin_prefetch(&r->offset); /* its second line comes beside the first */
    return offset < range_end(r) ? r : NULL;
}

/* ---- chunks ---- */

static void unlink_range(struct heap *h, struct range *r)
{
    if (r->previous)
        r->previous->next = r->next;
    else
        h->first = r->next;
    if (r->next)
        r->next->previous = r->previous;
}

/* A new chunk in front of c. */
static struct range *link_before(struct heap *h, struct range *r)
{
    struct range *new = range_new();
    new->next = r;
    new->previous = r->previous;
    if (r->previous)
        r->previous->next = new;
    else
        h->first = new;
    r->previous = new;
    return new;
}

struct range *heap_take(struct heap *h, struct range *r, size_t bytes)
{
    struct range *taken = r;
    allocation_index_prefetch(&h->allocations, r->offset);
    free_list_remove(heap_list_of(h, r), &r->node);
    if (r->slot == SHARED_LIST)
        heap_set_idle_owner(h, NULL, r->offset, r->offset + bytes);
    /* C stays as the rest, so that the steps it owns still point to it. */
    if (r->node.bytes > bytes) {
        taken = link_before(h, r);
        taken->offset = r->offset;
        taken->node.bytes = bytes;
        r->offset += bytes;
        r->node.bytes -= bytes;
        r->node.insertion = ++h->insertions;
        if (r->slot == SHARED_LIST)
            r->partial = heap_is_partial(h, r);
        free_list_insert(heap_list_of(h, r), &r->node);
    }
    taken->live = true;
    taken->requested = 0;
    taken->id = 0;
    taken->free_pending = false;
    taken->shadow = (struct shadow){.accesses = NULL};
    allocation_index_insert(&h->allocations, taken->offset, taken->index);
    return taken;
}

/* Puts a free chunk that is in no list into one, and makes it one with its neighbours there. */
static void insert_free(struct heap *h, struct range *r, uint32_t slot, uint64_t free_seq)
{
    struct range *left = r->previous, *right = r->next, *merged = r;
    if (left && (left->live || left->slot != slot))
        left = NULL;
    if (right && (right->live || right->slot != slot))
        right = NULL;
    size_t from = left ? left->offset : r->offset, to = right ? range_end(right) : range_end(r);
    size_t changed_from = from, changed_to = to;
    if (left) {
        free_list_remove(heap_list_of(h, left), &left->node);
        if (left->node.free_seq > free_seq)
            free_seq = left->node.free_seq;
    }
    if (right) {
        free_list_remove(heap_list_of(h, right), &right->node);
        if (right->node.free_seq > free_seq)
            free_seq = right->node.free_seq;
    }
    /* the larger neighbour lives on: it may own many steps */
    if (left && (!right || left->node.bytes >= right->node.bytes)) {
        merged = left;
        changed_from = r->offset;
    } else if (right) {
        merged = right;
        changed_to = range_end(r);
    }
    struct range *parts[3] = {left, r, right};
    for (int i = 0; i < 3; i++)
        if (parts[i] && parts[i] != merged) {
            unlink_range(h, parts[i]);
            range_recycle(parts[i]);
        }
    merged->offset = from;
    merged->node.bytes = to - from;
    merged->node.free_seq = free_seq;
    merged->node.insertion = ++h->insertions;
    merged->slot = slot;
    merged->live = false;
    if (slot == SHARED_LIST) {
        merged->partial = heap_is_partial(h, merged);
        heap_set_idle_owner(h, merged, changed_from, changed_to);
    }
    free_list_insert(heap_list_of(h, merged), &merged->node);
}

void heap_put(struct heap *h, struct range *r, uint32_t slot, uint64_t free_seq)
{
    /* They are needed soon, and lie anywhere. */
    if (r->previous)
        __builtin_prefetch(&r->previous->offset);
    if (r->next)
        __builtin_prefetch(&r->next->offset);
    allocation_index_remove(&h->allocations, r->offset);
    r->live = false;
    insert_free(h, r, slot, free_seq);
}

struct range *heap_take_at(struct heap *h, size_t offset, size_t bytes)
{
    struct range *r = h->first, *skipped = NULL;
    while (r && range_end(r) <= offset)
        r = r->next;
    if (!r || r->live || range_end(r) < offset + bytes)
        return NULL;
    size_t skip = offset - r->offset;
    heap_map(h, r, skip + bytes);
    if (skip) {
        skipped = heap_take(h, r, skip);
        r = skipped->next;
    }
    struct range *taken = heap_take(h, r, bytes);
    if (skipped)
        heap_put(h, skipped, SHARED_LIST, 0);
    return taken;
}

void heap_make_shared(struct heap *h, struct range *r)
{
    free_list_remove(heap_list_of(h, r), &r->node);
    insert_free(h, r, SHARED_LIST, 0);
}
