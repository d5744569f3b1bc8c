/* Which addresses the allocation nodes of a graph get, on one device. Measured (probe-graphs.txt,
 * "graph_addresses"; probe-graph-nodes.txt, "fits"): addresses are given out again to a node that
 * comes after the free node; the smallest free range that is large enough is taken, else the next
 * addresses that were never given out; neighbors are one range when one of the free nodes comes
 * after the other.
 *
 * All of these functions need the lock. A graph_va belongs to its graph_memory. */
#ifndef SIM_GRAPH_GRAPH_VA_H
#define SIM_GRAPH_GRAPH_VA_H

#include "graph/graph.h"

struct graph_va_range;

struct graph_va {
    /* What was given out and freed again. */
    struct graph_va_range *free_ranges;
    /* From this offset on nothing was given out. */
    size_t top;
};

/* Takes addresses for a node, whose ancestors graph_visit_ancestors has visited. Returns their
 * offset, or SIZE_MAX when they do not fit below `limit`. */
size_t graph_va_take(struct graph_va *va, size_t bytes, size_t limit);
/* Gives addresses back, for nodes that come after `freed_by`. */
void graph_va_give(struct graph_va *va, size_t from, size_t bytes, struct node *freed_by);
/* Frees the list of free ranges. */
void graph_va_close(struct graph_va *va);
/* Returns the bytes of all free ranges that touch [from, to). */
size_t graph_va_free_bytes(const struct graph_va *va, size_t from, size_t to);

#endif
