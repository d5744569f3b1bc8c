/* The laws of a heap, walked. For tests: nothing else asks. */
#include "mem/heap_internal.h"

/* How many chunks are in lists whose own laws hold; SIZE_MAX when one's do not. */
static size_t count_listed(const struct heap *h)
{
    size_t mapped = free_list_count_valid(&h->shared_mapped),
           partial = free_list_count_valid(&h->shared_partial), sum = mapped + partial;
    if (mapped == SIZE_MAX || partial == SIZE_MAX)
        return SIZE_MAX;
    for (uint32_t i = 0; i < h->stream_list_count; i++) {
        size_t n = free_list_count_valid(&h->stream_lists[i].list);
        if (n == SIZE_MAX)
            return SIZE_MAX;
        sum += n;
    }
    return sum;
}

const char *heap_is_valid(const struct heap *h)
{
    size_t at = 0, live = 0, mapped = 0, idle = 0, chunks = 0;
    if (!h->base)
        return h->first ? "a closed heap has allocations" : NULL;
    for (size_t x = 0; x < heap_segment_count(h); x++) {
        if (bit_get(h->mapped, x) && x >= h->top_segment)
            return "a mapped segment lies beyond the top";
        mapped += bit_get(h->mapped, x);
        if (!bit_get(h->mapped, x) && h->idle_owner[x])
            return "an unmapped segment has an owner";
        if (bit_get(h->idle, x) != (h->idle_owner[x] != NULL))
            return "the map of idle segments does not match their owners";
        idle += bit_get(h->idle, x);
    }
    if (idle != h->idle_count)
        return "the count of idle segments is incorrect";
    if (mapped != h->mapped_count)
        return "the count of mapped segments is incorrect";
    for (struct range *r = h->first; r; r = r->next) {
        size_t last = (range_end(r) - 1) / h->segment_size;
        if (r->offset != at || !r->node.bytes)
            return "allocations leave a gap or overlap";
        if (r->next && r->next->previous != r)
            return "the list of allocations is broken";
        if (r->next && !r->live && !r->next->live && r->slot == r->next->slot)
            return "two neighbours in one list are not one allocation";
        if (r->live != (heap_find(h, r->offset) == r)
            || r->live != (heap_find(h, range_end(r) - 1) == r))
            return "the index does not match the live allocations";
        bool shared = !r->live && r->slot == SHARED_LIST;
        if (!shared && heap_unmapped_count(h, r->offset, r->node.bytes))
            return "an allocation that is not common lies on an unmapped segment";
        if (shared && r->partial != heap_is_partial(h, r))
            return "a common allocation is in the incorrect list";
        for (size_t x = r->offset / h->segment_size; x <= last && x < h->top_segment; x++) {
            bool alone = shared && x * h->segment_size >= r->offset
                      && (x + 1) * h->segment_size <= range_end(r);
            if (alone && h->idle_owner[x] != (bit_get(h->mapped, x) ? r : NULL))
                return "an idle segment has the incorrect owner";
            if (!alone && h->idle_owner[x])
                return "a segment in use has an owner";
            if (!alone && !bit_get(h->mapped, x))
                return "an unmapped segment is not alone in a common allocation";
        }
        live += r->live;
        chunks++;
        at = range_end(r);
    }
    if (at != h->limit)
        return "allocations do not reach the end of the range";
    if (count_listed(h) != chunks - live)
        return "the lists of free allocations are out of order, or lack one";
    return live == h->allocations.count ? NULL : "the count of live allocations is wrong";
}
