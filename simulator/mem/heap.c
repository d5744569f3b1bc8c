/* A heap: its beginning and end, its segments, its free lists, and how ranges are cut and merged.
 * mem/heap.h has the invariants. */
#include "mem/heap.h"

#include <string.h>

#include "base/list.h"
#include "mem/address_map.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/stream.h"

/* Ranges are allocated in slabs: the first SMALL_SLABS small ones, then large pages. */
#define SLAB_BYTES  (64 * KiB)
#define SMALL_SLABS 16

/* Needs the lock. Unused ranges, linked by `next`, to which nothing else points. They are never
 * given back to the system. */
static struct {
    struct range *recycled;
    unsigned slabs;
    bool reported_no_addresses;
} heaps;

static void range_recycle(struct range *r)
{
    r->next = heaps.recycled;
    heaps.recycled = r;
}

static void add_slab(void)
{
    size_t bytes = heaps.slabs++ < SMALL_SLABS ? SLAB_BYTES : OS_LARGE_PAGE;
    char *start = os_allocate_table(bytes), *end = start + bytes;
    struct range *slab = (struct range *)round_up((uintptr_t)start, CACHE_LINE);
    for (size_t i = (size_t)(end - (char *)slab) / sizeof *slab; i--;)
        range_recycle(&slab[i]);
}

static struct range *range_new(void)
{
    if (!heaps.recycled)
        add_slab();
    struct range *r = heaps.recycled;
    heaps.recycled = r->next;
    return r;
}

struct range *range_of_free_node(struct tree_node *n)
{
    return (struct range *)((char *)n - offsetof(struct range, free_node));
}

size_t range_end(const struct range *r)
{
    NEEDS_LOCK();
    return r->offset + r->bytes;
}

/* ---- opening ---- */

void heap_init(struct heap *h, int device, size_t segment_size, size_t limit)
{
    *h = (struct heap){
        .device = device, .segment_size = segment_size, .limit = limit, .unreached_at = UINT64_MAX};
    h->shared.slot = h->shared_partial.slot = SHARED_LIST;
}

/* A heap reserves far more addresses than are allocated in it, so a process with limited address
 * space may fail at its first allocation. */
static void diag_no_addresses(const struct heap *h)
{
    bool is_large = 2 * h->limit >= 10 * GiB;
    if (!heaps.reported_no_addresses)
        diag("this process has no %zu %s of addresses left for a pool or for cudaMalloc: they, or "
             "its mappings, are limited (ulimit -v, valgrind, vm.max_map_count), or used up by "
             "others. A device with less memory needs fewer: SIM_MEMORY=%zuM.",
             2 * h->limit / (is_large ? GiB : MiB), is_large ? "GiB" : "MiB",
             is_large ? 1024 : h->limit / 8 / MiB);
    heaps.reported_no_addresses = true;
}

static void list_insert(struct heap *h, struct free_list *list, struct range *r, uint64_t free_seq)
{
    r->list = list;
    r->free_node.key = r->bytes;
    r->free_node.age = ++h->insertions;
    r->free_node.value = free_seq;
    tree_insert(&list->ranges, &r->free_node);
}

static char *reserve(const struct heap *h)
{
    if (h->file && h->host_visible)
        return os_reserve_host_visible_in_file(h->file, HEAP_FILE_HEADER, h->limit);
    if (h->file)
        return os_reserve_in_file(h->file, HEAP_FILE_HEADER, h->limit);
    return h->host_visible ? os_reserve_host_visible(h->limit) : os_reserve(h->limit);
}

bool heap_open(struct heap *h)
{
    NEEDS_LOCK();
    if (h->base)
        return true;
    h->base = reserve(h);
    if (!h->base) {
        diag_no_addresses(h);
        return false;
    }
    struct range *all = range_new();
    *all = (struct range){.bytes = h->limit};
    h->first = all;
    list_insert(h, &h->shared_partial, all, 0);
    address_map_add(h);
    return true;
}

void heap_close(struct heap *h)
{
    LIST_END(h->first, range_recycle);
    LIST_END(h->stream_lists, os_free);
    if (h->base)
        os_unreserve(h->base, h->limit);
    if (h->ipc_table)
        h->end_sharing(h);
    os_free(h->in_file);
    os_free(h->mapped);
    os_free(h->idle_owner);
    os_free(h->idle);
    os_free(h->list_of_slot);
    uniform_close(&h->uniform);
    allocation_index_close(&h->allocations);
    h->base = NULL;
}

/* ---- segments ---- */

size_t heap_unmapped_count(const struct heap *h, size_t offset, size_t bytes)
{
    size_t unmapped = 0, last = (offset + bytes - 1) / h->segment_size;
    for (size_t x = offset / h->segment_size; x <= last; x++) {
        if (x >= h->top_segment)
            return unmapped + (last - x + 1);
        unmapped += !h->mapped[x];
    }
    return unmapped;
}

bool heap_is_mapped(const struct heap *h, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    if (!bytes)
        return offset < h->limit;
    return offset < h->limit && bytes <= h->limit - offset
        && offset + bytes <= h->top_segment * h->segment_size
        && heap_unmapped_count(h, offset, bytes) == 0;
}

static void set_idle_owner(struct heap *h, size_t x, struct range *r)
{
    bool was_idle = h->idle_owner[x];
    h->idle_owner[x] = r;
    if (was_idle == (r != NULL))
        return;
    h->idle[x / 64] ^= (uint64_t)1 << x % 64;
    h->idle_count += r ? 1 : SIZE_MAX;
}

/* Makes `r` the owner of the segments at [from, to) that lie wholly in it. The others, or all if
 * `r` is NULL, get no owner. */
static void set_idle_owners(struct heap *h, struct range *r, size_t from, size_t to)
{
    size_t stop = (to + h->segment_size - 1) / h->segment_size;
    if (stop > h->top_segment)
        stop = h->top_segment;
    for (size_t x = from / h->segment_size; x < stop; x++) {
        size_t start = x * h->segment_size;
        bool whole = r && start >= r->offset && start + h->segment_size <= range_end(r);
        struct range *owner = whole && h->mapped[x] ? r : NULL;
        if (h->idle_owner[x] != owner)
            set_idle_owner(h, x, owner);
    }
}

bool heap_grow_file(struct heap *h, size_t end)
{
    return !h->file || h->imported
        || os_fd_grow(h->file, HEAP_FILE_HEADER + round_up(end, h->segment_size));
}

void heap_share_segments(struct heap *h)
{
    NEEDS_LOCK();
    h->in_file = os_allocate(sizeof *h->in_file);
    h->in_file_count = 1;
}

static void *grow_table(void *old, size_t bytes, size_t wanted)
{
    char *table = os_grow(old, wanted);
    memset(table + bytes, 0, wanted - bytes);
    return table;
}

/* Makes room in the tables for at least this many segments. */
static void grow_tables(struct heap *h, size_t segments)
{
    size_t old = h->table_segments, wanted = old ? 2 * old : 64;
    wanted = round_up(wanted < segments ? segments : wanted, 64);
    h->mapped = grow_table(h->mapped, old * sizeof *h->mapped, wanted * sizeof *h->mapped);
    h->idle_owner =
        grow_table(h->idle_owner, old * sizeof *h->idle_owner, wanted * sizeof *h->idle_owner);
    h->idle = grow_table(h->idle, old / 64 * sizeof *h->idle, wanted / 64 * sizeof *h->idle);
    h->table_segments = wanted;
}

static char *storage_at(const struct heap *h, size_t offset)
{
    return os_storage(h->base, h->limit) + offset;
}

void heap_map(struct heap *h, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    size_t last = (offset + bytes - 1) / h->segment_size;
    if (last >= h->table_segments)
        grow_tables(h, last + 1);
    for (size_t x = offset / h->segment_size; x <= last; x++) {
        if (h->mapped[x])
            continue;
        h->mapped[x] = true;
        os_commit(storage_at(h, x * h->segment_size), h->segment_size);
        if (h->host_visible)
            os_protect(h->base + x * h->segment_size, h->segment_size, OS_PROT_READ_WRITE);
        h->mapped_count++;
        if (x >= h->top_segment)
            h->top_segment = x + 1;
    }
}

size_t heap_map_idle(struct heap *h, struct range *r, size_t count)
{
    NEEDS_LOCK();
    size_t x = r->offset / h->segment_size, mapped = 0;
    for (; mapped < count; x++) {
        size_t start = x * h->segment_size;
        if (!heap_unmapped_count(h, start, h->segment_size))
            continue;
        heap_map(h, start, h->segment_size);
        set_idle_owners(h, r, start, start + h->segment_size);
        mapped++;
    }
    return mapped;
}

/* Returns the idle segments of word w of h->idle, except those in [from, to). */
static uint64_t idle_outside(const struct heap *h, size_t w, size_t from, size_t to)
{
    uint64_t idle = h->idle[w];
    for (size_t x = from > w * 64 ? from : w * 64; x < to && x < (w + 1) * 64; x++)
        idle &= ~((uint64_t)1 << x % 64);
    return idle;
}

size_t heap_idle_segment(const struct heap *h, bool highest, size_t from, size_t to)
{
    size_t words = (h->top_segment + 63) / 64;
    for (size_t i = 0; i < words; i++) {
        size_t w = highest ? words - 1 - i : i;
        uint64_t idle = idle_outside(h, w, from, to);
        if (idle)
            return w * 64 + (size_t)(highest ? 63 - __builtin_clzll(idle) : __builtin_ctzll(idle));
    }
    return SIZE_MAX;
}

char *heap_storage(struct heap *h, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    uniform_settle(&h->uniform, storage_at(h, 0), offset, bytes);
    return storage_at(h, offset);
}

/* Returns whether another process may see any of these bytes. */
static bool is_in_file(const struct heap *h, size_t offset, size_t bytes)
{
    size_t x = offset / h->segment_size, end = (offset + bytes - 1) / h->segment_size + 1;
    if (!h->file || !h->in_file)
        return h->file;
    for (end = end < h->in_file_count ? end : h->in_file_count; x < end; x++)
        if (h->in_file[x])
            return true;
    return false;
}

bool heap_move_to_file(struct heap *h, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    size_t first = offset / h->segment_size, end = (offset + bytes - 1) / h->segment_size + 1;
    if (!os_fd_grow(h->file, HEAP_FILE_HEADER + end * h->segment_size))
        return false;
    if (end > h->in_file_count) {
        h->in_file = grow_table(h->in_file, h->in_file_count, end);
        h->in_file_count = end;
    }
    for (size_t x = first; x < end; x++) {
        size_t at = x * h->segment_size;
        if (h->in_file[x])
            continue;
        h->in_file[x] = os_move_to_file(heap_storage(h, at, h->segment_size), h->segment_size,
                                        h->file, HEAP_FILE_HEADER + at);
        if (!h->in_file[x])
            return false;
    }
    return true;
}

/* The host, another process, or another mapping sees the storage, so a fill cannot merely be
 * noted. */
static bool is_shared(const struct heap *h, size_t offset, size_t bytes)
{
    return h->host_visible || h->is_virtual || is_in_file(h, offset, bytes);
}

void heap_fill(struct heap *h, size_t offset, size_t bytes, int value)
{
    NEEDS_LOCK();
    if (!is_shared(h, offset, bytes)) {
        uniform_fill(&h->uniform, storage_at(h, 0), offset, bytes, value);
        return;
    }
    os_hint_hugepages(storage_at(h, offset), bytes);
    write_ints(heap_storage(h, offset, bytes), value, bytes);
}

void heap_add(struct heap *h, size_t offset, size_t bytes, int value)
{
    NEEDS_LOCK();
    uniform_add(&h->uniform, storage_at(h, 0), offset, bytes, value);
}

void heap_read(struct heap *h, size_t offset, size_t bytes, char *to)
{
    NEEDS_LOCK();
    os_hint_hugepages(to, bytes);
    uniform_read(&h->uniform, storage_at(h, 0), offset, bytes, to);
}

void heap_copy(struct heap *to, size_t to_offset, struct heap *from, size_t from_offset,
               size_t bytes)
{
    NEEDS_LOCK();
    char *target = storage_at(to, to_offset), *source = storage_at(from, from_offset);
    bool overlaps = target < source + bytes && source < target + bytes;
    os_hint_hugepages(target, bytes);
    if (!is_shared(to, to_offset, bytes) && !overlaps)
        uniform_copy(&to->uniform, storage_at(to, 0), to_offset, &from->uniform,
                     storage_at(from, 0), from_offset, bytes);
    else
        memmove(heap_storage(to, to_offset, bytes), heap_storage(from, from_offset, bytes), bytes);
}

/* Discards the storage of segments `first` to `end` at once, because a release of a thousand
 * segments would otherwise take as many system calls. */
static void discard_storage(struct heap *h, size_t first, size_t end)
{
    size_t offset = first * h->segment_size, bytes = (end - first) * h->segment_size;
    if (bytes == 0)
        return;
    uniform_forget(&h->uniform, offset, bytes);
    bool keep = h->keep_storage && h->keep_storage(h, offset, bytes);
    if (!keep && !h->imported && is_in_file(h, offset, bytes))
        os_fd_discard(h->file, HEAP_FILE_HEADER + offset, bytes);
    if (!h->file && h->host_visible)
        os_discard_host_visible(storage_at(h, offset), bytes);
    else if (!h->file || h->in_file)
        os_discard(storage_at(h, offset), bytes);
    if (h->host_visible)
        os_protect(h->base + offset, bytes, OS_PROT_NONE);
}

/* Unmaps a segment, but leaves its storage. */
static void forget_segment(struct heap *h, size_t segment)
{
    struct range *r = h->idle_owner[segment];
    h->mapped[segment] = false;
    h->mapped_count--;
    set_idle_owner(h, segment, NULL);
    if (r->list == &h->shared_partial)
        return;
    /* The range keeps its age. */
    tree_remove(&h->shared.ranges, &r->free_node);
    r->list = &h->shared_partial;
    tree_insert(&h->shared_partial.ranges, &r->free_node);
}

void heap_unmap(struct heap *h, size_t segment)
{
    NEEDS_LOCK();
    forget_segment(h, segment);
    discard_storage(h, segment, segment + 1);
}

size_t heap_release(struct heap *h, size_t keep)
{
    NEEDS_LOCK();
    size_t segments = 0, first = 0, end = 0;
    while (h->idle_count && h->mapped_count * h->segment_size > keep) {
        size_t segment = heap_idle_segment(h, true, 0, 0);
        if (segment + 1 != first) {
            discard_storage(h, first, end);
            end = segment + 1;
        }
        first = segment;
        forget_segment(h, segment);
        segments++;
    }
    discard_storage(h, first, end);
    return segments;
}

/* ---- lists ---- */

static void add_stream_list(struct heap *h, uint32_t slot)
{
    if (slot >= h->slot_count) {
        uint32_t wanted = 2 * slot + 8;
        h->list_of_slot = os_grow(h->list_of_slot, wanted * sizeof(struct free_list *));
        for (uint32_t i = h->slot_count; i < wanted; i++)
            h->list_of_slot[i] = NULL;
        h->slot_count = wanted;
    }
    if (h->list_of_slot[slot])
        return;
    struct free_list *list = os_allocate(sizeof *list);
    list->slot = slot;
    list->place = stream_place(stream_of_slot(slot));
    h->list_of_slot[slot] = list;
    struct free_list *next = h->stream_lists;
    while (next && next->place <= list->place) {
        list->previous = next;
        next = next->next;
    }
    list->next = next;
    *(list->previous ? &list->previous->next : &h->stream_lists) = list;
    if (next)
        next->previous = list;
}

void heap_remove_list(struct heap *h, struct free_list *list)
{
    LIST_TAKE(h->stream_lists, list);
    h->list_of_slot[list->slot] = NULL;
    os_free(list);
}

struct free_list *heap_stream_list(struct heap *h, uint32_t slot)
{
    if (slot >= h->slot_count || !h->list_of_slot[slot])
        add_stream_list(h, slot);
    return h->list_of_slot[slot];
}

struct range *heap_best_fit(const struct free_list *list, size_t bytes, uint64_t max_seq)
{
    struct tree_node *n = list->ranges.root ? tree_first(&list->ranges, bytes, max_seq) : NULL;
    return n ? range_of_free_node(n) : NULL;
}

/* Returns the better fit of two ranges, either of which may be NULL. */
static struct range *better_fit(struct range *a, struct range *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? a : b;
    return a->free_node.age < b->free_node.age ? a : b;
}

struct range *heap_best_shared(const struct heap *h, size_t bytes)
{
    return better_fit(heap_best_fit(&h->shared, bytes, UINT64_MAX),
                      heap_best_fit(&h->shared_partial, bytes, UINT64_MAX));
}

/* ---- ranges ---- */

/* Returns the range that contains this offset of the heap, or NULL. */
static struct range *range_at(struct heap *h, size_t offset)
{
    struct tree_node *n = tree_last(&h->ranges, offset);
    struct range *r =
        n ? (struct range *)((char *)n - offsetof(struct range, address_node)) : h->first;
    while (r && offset >= range_end(r)) {
        r = r->next;
        if (r && !r->is_in_tree) {
            r->is_in_tree = true;
            r->address_node.key = r->offset;
            tree_insert(&h->ranges, &r->address_node);
        }
    }
    return r;
}

struct range *heap_find(struct heap *h, size_t offset)
{
    NEEDS_LOCK();
    struct range *r = allocation_index_find(&h->allocations, offset);
    if (r) {
        /* A free looks at the range's neighbors, which were usually cut off just before and after
         * it. Prefetching reads the three in parallel. */
        __builtin_prefetch(r - 1);
        __builtin_prefetch(r + 1);
        return r;
    }
    r = range_at(h, offset);
    return r && r->live ? r : NULL;
}

/* Cuts the first bytes of a range off, as a new range. */
static struct range *cut_start(struct heap *h, struct range *r, size_t bytes)
{
    struct range *start = range_new();
    *start =
        (struct range){.offset = r->offset, .bytes = bytes, .previous = r->previous, .next = r};
    if (r->previous)
        r->previous->next = start;
    else
        h->first = start;
    r->previous = start;
    r->offset += bytes;
    r->bytes -= bytes;
    if (r->is_in_tree)
        r->address_node.key = r->offset;
    return start;
}

/* Puts the rest of a range that was cut back into a list. The rest of a mapped range is mapped. */
static void list_rest(struct heap *h, struct free_list *list, struct range *r, uint64_t free_seq)
{
    if (list == &h->shared_partial && heap_is_mapped(h, r->offset, r->bytes))
        list = &h->shared;
    list_insert(h, list, r, free_seq);
}

struct range *heap_take(struct heap *h, struct range *r, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    struct range *skipped = NULL, *taken = r;
    struct free_list *list = r->list;
    uint64_t free_seq = r->free_node.value;
    tree_remove(&list->ranges, &r->free_node);
    if (offset > r->offset)
        skipped = cut_start(h, r, offset - r->offset);
    /* Keep `r` as the rest, so that the segments it owns still point to it. */
    if (r->bytes > bytes) {
        taken = cut_start(h, r, bytes);
        list_rest(h, list, r, free_seq);
    }
    if (list->slot == SHARED_LIST)
        set_idle_owners(h, NULL, offset, offset + bytes);
    if (skipped) {
        list_rest(h, list, skipped, free_seq);
        if (list->slot == SHARED_LIST)
            set_idle_owners(h, skipped, skipped->offset, offset);
    }
    taken->live = true;
    taken->requested = 0;
    taken->id = 0;
    taken->free_pending = false;
    taken->opens = 0;
    taken->shadow = (struct shadow){.accesses = NULL};
    allocation_index_insert(&h->allocations, taken);
    return taken;
}

struct range *heap_free_at(struct heap *h, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    struct range *r = range_at(h, offset);
    return r && !r->live && range_end(r) >= offset + bytes ? r : NULL;
}

/* Takes a neighbor out of its list if a range freed into this slot is to be merged with it. */
static bool take_neighbor(struct range *neighbor, uint32_t slot)
{
    if (!neighbor || neighbor->live || neighbor->list->slot != slot)
        return false;
    tree_remove(&neighbor->list->ranges, &neighbor->free_node);
    return true;
}

/* Merges two neighbors into `kept`. */
static void absorb(struct heap *h, struct range *kept, struct range *gone)
{
    if (gone->offset < kept->offset)
        kept->offset = gone->offset;
    if (kept->is_in_tree)
        kept->address_node.key = kept->offset;
    kept->bytes += gone->bytes;
    if (gone->is_in_tree)
        tree_remove(&h->ranges, &gone->address_node);
    LIST_TAKE(h->first, gone);
    range_recycle(gone);
}

/* Puts a range that is in no list into one, merged with its neighbors there. */
static void insert_free(struct heap *h, struct range *r, uint32_t slot, uint64_t free_seq)
{
    struct range *left = r->previous, *right = r->next, *kept = r;
    bool has_left = take_neighbor(left, slot), has_right = take_neighbor(right, slot);
    struct free_list *list = slot == SHARED_LIST ? &h->shared : heap_stream_list(h, slot);
    if ((has_left && left->list == &h->shared_partial)
        || (has_right && right->list == &h->shared_partial))
        list = &h->shared_partial;
    if (has_left && left->free_node.value > free_seq)
        free_seq = left->free_node.value;
    if (has_right && right->free_node.value > free_seq)
        free_seq = right->free_node.value;
    /* Keep the larger neighbor, because it may own many segments, which then stay unchanged. */
    if (has_left && (!has_right || left->bytes >= right->bytes))
        kept = left;
    else if (has_right)
        kept = right;
    size_t from = has_left && kept != left ? left->offset : r->offset,
           to = has_right && kept != right ? range_end(right) : range_end(r);
    if (kept != r)
        absorb(h, kept, r);
    if (has_left && kept != left)
        absorb(h, kept, left);
    if (has_right && kept != right)
        absorb(h, kept, right);
    if (slot == SHARED_LIST)
        set_idle_owners(h, kept, from, to);
    list_insert(h, list, kept, free_seq);
}

void heap_put(struct heap *h, struct range *r, uint32_t slot, uint64_t free_seq)
{
    NEEDS_LOCK();
    allocation_index_remove(&h->allocations, r);
    r->live = false;
    insert_free(h, r, slot, free_seq);
}

void heap_make_shared(struct heap *h, struct range *r) { insert_free(h, r, SHARED_LIST, 0); }
