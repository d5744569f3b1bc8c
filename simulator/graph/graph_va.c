/* Assigns addresses to the allocation nodes of a graph. */
#include "graph/graph_va.h"

#include "base/list.h"
#include "os/os.h"

/* Freed addresses, for nodes that come after `freed_by`. */
struct graph_va_range {
    struct graph_va_range *next;
    size_t from, bytes;
    struct node *freed_by;
};

size_t graph_va_take(struct graph_va *va, size_t bytes, size_t limit)
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

void graph_va_give(struct graph_va *va, size_t from, size_t bytes, struct node *freed_by)
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

void graph_va_close(struct graph_va *va) { LIST_END(va->free_ranges, os_free); }

size_t graph_va_free_bytes(const struct graph_va *va, size_t from, size_t to)
{
    size_t sum = 0;
    for (const struct graph_va_range *r = va->free_ranges; r; r = r->next)
        if (r->from < to && from < r->from + r->bytes)
            sum += r->bytes;
    return sum;
}
