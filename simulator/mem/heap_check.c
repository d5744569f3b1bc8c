/* The laws of a heap, walked. For tests: nothing else asks. */
#include "mem/heap_internal.h"

/* How many chunks are in lists whose own laws hold; SIZE_MAX when one's do not. */
static size_t count_listed(const struct heap *h)
{
    size_t whole = fit_count_valid(&h->whole), parts = fit_count_valid(&h->parts), sum = whole + parts;
    if (whole == SIZE_MAX || parts == SIZE_MAX) return SIZE_MAX;
    for (uint32_t i = 0; i < h->lane_count; i++) {
        size_t n = fit_count_valid(&h->lanes[i].fits);
        if (n == SIZE_MAX) return SIZE_MAX;
        sum += n;
    }
    return sum;
}

const char *heap_is_valid(const struct heap *h)
{
    size_t at = 0, live = 0, mapped = 0, idle = 0, chunks = 0;
    if (!h->base) return h->first ? "a closed heap has chunks" : NULL;
    for (size_t x = 0; x < heap_steps(h); x++) {
        if (bit_get(h->mapped, x) && x >= h->top) return "a mapped step lies beyond the top";
        mapped += bit_get(h->mapped, x);
        if (!bit_get(h->mapped, x) && h->idle_owner[x]) return "an unmapped step has an owner";
        if (bit_get(h->idle, x) != (h->idle_owner[x] != NULL)) return "the map of idle steps does not match their owners";
        idle += bit_get(h->idle, x);
    }
    if (idle != h->idle_count) return "the count of idle steps is wrong";
    if (mapped != h->mapped_count) return "the count of mapped steps is wrong";
    for (struct chunk *c = h->first; c; c = c->next) {
        size_t last = (chunk_end(c) - 1) / h->step;
        if (c->offset != at || !c->fit.bytes) return "chunks leave a gap or overlap";
        if (c->next && c->next->previous != c) return "the list of chunks is broken";
        if (c->next && !c->live && !c->next->live && c->lane == c->next->lane) return "two neighbours in one list are not one chunk";
        if (c->live != (heap_find(h, c->offset) == c) || c->live != (heap_find(h, chunk_end(c) - 1) == c)) return "the index does not match the live chunks";
        bool common = !c->live && c->lane == COMMON;
        if (!common && heap_missing(h, c->offset, c->fit.bytes)) return "a chunk that is not common lies on an unmapped step";
        if (common && c->partial != heap_is_partial(h, c)) return "a common chunk is in the wrong list";
        for (size_t x = c->offset / h->step; x <= last && x < h->top; x++) {
            bool alone = common && x * h->step >= c->offset && (x + 1) * h->step <= chunk_end(c);
            if (alone && h->idle_owner[x] != (bit_get(h->mapped, x) ? c : NULL)) return "an idle step has the wrong owner";
            if (!alone && h->idle_owner[x]) return "a step in use has an owner";
            if (!alone && !bit_get(h->mapped, x)) return "an unmapped step is not alone in a common chunk";
        }
        live += c->live;
        chunks++;
        at = chunk_end(c);
    }
    if (at != h->limit) return "chunks do not reach the end of the range";
    if (count_listed(h) != chunks - live) return "the lists of free chunks are out of order, or lack one";
    return live == h->starts.count ? NULL : "the count of live chunks is wrong";
}
