/* Which addresses the allocation nodes of a graph get. */
#include "graph/graph_va.h"

#include "os/os.h"

struct piece {
    struct piece *next;
    size_t        from, bytes;
    struct node  *freed_by;            /* who comes after this node may have them */
};

size_t addresses_take(struct addresses *a, size_t bytes, size_t limit)
{
    struct piece **best = NULL;
    for (struct piece **at = &a->pieces; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && graph_marked((*at)->freed_by) && (!best || (*at)->bytes < (*best)->bytes)) best = at;
    if (!best) {
        if (bytes > limit - a->top) return SIZE_MAX;
        a->top += bytes;
        return a->top - bytes;
    }
    struct piece *p = *best;
    size_t from = p->from;
    p->from += bytes;
    p->bytes -= bytes;
    if (!p->bytes) {
        *best = p->next;
        host_free(p);
    }
    return from;
}

void addresses_give(struct addresses *a, size_t from, size_t bytes, struct node *freed_by)
{
    graph_mark(&freed_by, 1);
    for (struct piece **at = &a->pieces; *at;) {
        struct piece *p = *at;
        bool below = p->from + p->bytes == from, above = p->from == from + bytes;
        if (!(below || above) || !graph_marked(p->freed_by)) {
            at = &p->next;
            continue;
        }
        if (below) from = p->from;
        bytes += p->bytes;
        *at = p->next;
        host_free(p);
    }
    struct piece *p = host_allocate(sizeof *p);
    *p = (struct piece){ a->pieces, from, bytes, freed_by };
    a->pieces = p;
}

void addresses_close(struct addresses *a)
{
    for (struct piece *p = a->pieces, *next; p; p = next) {
        next = p->next;
        host_free(p);
    }
}

size_t addresses_free(const struct addresses *a, size_t from, size_t to)
{
    size_t sum = 0;
    for (const struct piece *p = a->pieces; p; p = p->next)
        if (p->from < to && from < p->from + p->bytes) sum += p->bytes;
    return sum;
}
