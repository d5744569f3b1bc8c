/* Checks the invariants of a heap, for tests and for SIM_CHECK_LAWS=1 (api/laws.h). */
#include "mem/heap.h"

#include "os/needs_lock.h"

/* Returns the number of ranges in the free lists, or SIZE_MAX if a list violates its invariants. */
static size_t count_listed(const struct heap *h)
{
    size_t sum = 0;
    const struct free_list *const shared[] = {&h->shared, &h->shared_partial};
    for (size_t i = 0; i < 2; i++) {
        size_t n = tree_count_valid(&shared[i]->ranges);
        if (n == SIZE_MAX)
            return SIZE_MAX;
        sum += n;
    }
    for (const struct free_list *list = h->stream_lists; list; list = list->next) {
        size_t n = tree_count_valid(&list->ranges);
        if (n == SIZE_MAX || h->list_of_slot[list->slot] != list)
            return SIZE_MAX;
        sum += n;
    }
    return sum;
}

static const char *check_segments(const struct heap *h)
{
    size_t mapped = 0, idle = 0;
    for (size_t x = 0; x < h->table_segments; x++) {
        bool is_idle = h->idle[x / 64] >> x % 64 & 1;
        if (h->mapped[x] && x >= h->top_segment)
            return "a mapped segment lies beyond the top";
        if (!h->mapped[x] && h->idle_owner[x])
            return "an unmapped segment has an owner";
        if (is_idle != (h->idle_owner[x] != NULL))
            return "the map of idle segments does not match their owners";
        mapped += h->mapped[x];
        idle += is_idle;
    }
    if (idle != h->idle_count)
        return "the count of idle segments is incorrect";
    return mapped == h->mapped_count ? NULL : "the count of mapped segments is incorrect";
}

/* Checks the invariants of one range and of the segments under it. */
static const char *check_range(const struct heap *h, struct range *r)
{
    bool shared = !r->live && r->list->slot == SHARED_LIST;
    bool mapped = heap_is_mapped(h, r->offset, r->bytes);
    if (r->next && r->next->previous != r)
        return "the list of ranges is broken";
    if (r->next && !r->live && !r->next->live && r->list->slot == r->next->list->slot)
        return "two neighbors in one list are not one range";
    if (!r->live && (r->free_node.key != r->bytes || !tree_has(&r->list->ranges, UINT64_MAX)))
        return "a free range is listed by another size";
    if (r->live && allocation_index_find(&h->allocations, r->offset) != r)
        return "the index does not match the live allocations";
    if (r->is_in_tree && r->address_node.key != r->offset)
        return "the tree of ranges has one at another offset";
    if (!shared && !mapped)
        return "a range that is not shared lies on an unmapped segment";
    if (shared && r->list != (mapped ? &h->shared : &h->shared_partial))
        return "a shared range is in the incorrect list";
    size_t last = (range_end(r) - 1) / h->segment_size;
    for (size_t x = r->offset / h->segment_size; x <= last && x < h->top_segment; x++) {
        bool alone =
            shared && x * h->segment_size >= r->offset && (x + 1) * h->segment_size <= range_end(r);
        if (alone && h->idle_owner[x] != (h->mapped[x] ? r : NULL))
            return "an idle segment has the incorrect owner";
        if (!alone && h->idle_owner[x])
            return "a segment in use has an owner";
        if (!alone && !h->mapped[x])
            return "an unmapped segment is not alone in a shared range";
    }
    return NULL;
}

const char *heap_is_valid(const struct heap *h)
{
    NEEDS_LOCK();
    size_t at = 0, live = 0, ranges = 0, in_tree = 0;
    if (!h->base)
        return h->first ? "a closed heap has ranges" : NULL;
    const char *broken = check_segments(h);
    for (struct range *r = h->first; r && !broken; r = r->next) {
        if (r->offset != at || !r->bytes)
            return "ranges leave a gap or overlap";
        broken = check_range(h, r);
        live += r->live;
        in_tree += r->is_in_tree;
        ranges++;
        at = range_end(r);
    }
    if (broken)
        return broken;
    if (at != h->limit)
        return "ranges do not reach the end of the heap";
    if (tree_count_valid(&h->ranges) != in_tree)
        return "the tree of ranges is out of order, or lacks one";
    if (count_listed(h) != ranges - live)
        return "the lists of free ranges are out of order, or lack one";
    return live == h->allocations.count ? NULL : "the count of live allocations is incorrect";
}
