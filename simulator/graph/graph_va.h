/* Assigns addresses to the allocation nodes of a graph, on one device. Measured (probe-graphs.txt,
 * "graph_addresses"; probe-graph-nodes.txt, "fits"): a node that comes after a free node may get
 * the freed addresses. It gets the smallest free range that is large enough, or else new addresses.
 * Neighboring free ranges are merged if one free node comes after the other.
 *
 * A graph_va belongs to its graph_memory. All functions here need the lock. */
#ifndef SIM_GRAPH_GRAPH_VA_H
#define SIM_GRAPH_GRAPH_VA_H

#include "graph/graph.h"

struct graph_va_range;

struct graph_va {
    /* Addresses that a free node has freed. */
    struct graph_va_range *free_ranges;
    /* No address from this offset on was ever given out. */
    size_t top;
};

/* Takes addresses for a node whose ancestors graph_visit_ancestors has visited. Returns their
 * offset, or SIZE_MAX if no range below `limit` is large enough. */
size_t graph_va_take(struct graph_va *va, size_t bytes, size_t limit);
/* Frees addresses for nodes that come after `freed_by`. */
void graph_va_give(struct graph_va *va, size_t from, size_t bytes, struct node *freed_by);
/* Frees the list of free ranges. */
void graph_va_close(struct graph_va *va);
/* Returns the bytes of all free ranges that overlap [from, to). */
size_t graph_va_free_bytes(const struct graph_va *va, size_t from, size_t to);

#endif
