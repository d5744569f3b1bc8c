/* Which addresses the allocation nodes of a graph get, on one device. measured (probe-graphs.txt,
 * "graph_addresses"; probe-graph-nodes.txt, "fits"): addresses are given out again to a node that
 * comes after the free node; the smallest piece that is large enough is taken, else the next that
 * were never given out; neighbours are one piece when one of the free nodes comes after the
 * other. */
#ifndef SIM_GRAPH_GRAPH_VA_H
#define SIM_GRAPH_GRAPH_VA_H

#include "graph/graph.h"

struct graph_va_range;

struct graph_va {
    struct graph_va_range *free_ranges; /* given out and freed again */
    size_t top;                         /* from here on none was given out */
};

/* Where `bytes` go, for a node; graph_visit_ancestors has marked what comes before it. SIZE_MAX:
 * not below `limit`. */
size_t graph_va_take(struct graph_va *va, size_t bytes, size_t limit);
/* A free node gives them back. */
void graph_va_give(struct graph_va *va, size_t from, size_t bytes, struct node *freed_by);
void graph_va_close(struct graph_va *va);
/* How many bytes are in pieces that touch [from, to). */
size_t graph_va_free_bytes(const struct graph_va *va, size_t from, size_t to);

#endif
