/* The memory of graphs' allocation nodes. Addresses belong to the graph and never change. Physical
 * memory belongs to the device, and graphs that cannot run at the same time share it. A segment of
 * addresses (32 MiB) has a physical segment from the graph's first launch on.
 *
 *   graph 1  addresses | allocation A, then C | allocation B |
 *   graph 2  addresses | allocation D |
 *   device   physical  | segment | segment | segment |
 *
 * A graph_allocation lives as long as its graph_memory: until the graph, all executable graphs with
 * its allocations, and all these allocations are gone. All functions here need the lock.
 *
 * Sources: the CUDA programming guide, "graph memory nodes" (documented);
 * simulator/tests/facts/one-gpu.txt, "graph memory nodes" (measured). */
#ifndef SIM_GRAPH_GRAPH_MEMORY_H
#define SIM_GRAPH_GRAPH_MEMORY_H

#include "graph/graph.h"
#include "graph/graph_segments.h"
#include "mem/memory.h"

/* The allocation of an allocation node, made once in each launch. */
struct graph_allocation {
    struct graph_allocation *next;
    struct graph_memory *memory;
    /* The allocation node, or NULL once its graph has been destroyed. */
    struct node *allocated_by;
    /* The free node in the same graph, or NULL. */
    struct node *freed_by;
    /* Another graph has a free node for this allocation. */
    bool freed_elsewhere;
    /* The graph has been instantiated with the allocation node. */
    bool instantiated;
    size_t offset, bytes;
    /* Bit d: the node requires access for device d. */
    uint32_t peer_rights;
    /* `peer_rights` as a list, once cudaGraphMemAllocNodeGetParams has returned it. */
    struct cudaMemAccessDesc *access_list;
    /* The live range of the heap, or NULL while nothing is allocated. */
    struct range *range;
    /* The last free; .call is NULL if there was none. */
    struct origin last_free;
    /* During a launch: a free that came before the allocation. */
    struct stream *early_free_stream;
    uint64_t early_free_seq;
    struct origin early_free_origin;
};

/* Takes addresses for a new allocation node of `g` that depends on `count` nodes (struct graph_va
 * has the rule). Returns NULL if no addresses are left. */
struct graph_allocation *graph_allocation_new(struct graph *g, int device, size_t bytes,
                                              uint32_t peer_rights,
                                              struct node *const *dependencies, size_t count);
/* Returns the allocation that a free node in `g` frees if it is given this address: an allocation
 * of `g`, or one that another graph, perhaps destroyed by now, leaves allocated. Returns NULL if no
 * allocation may be freed there. */
struct graph_allocation *graph_allocation_to_free(struct graph *g, const void *address);
/* Returns the bytes from the address to the end of a node's allocation there, or 0 if it has
 * none. */
size_t graph_allocation_bytes_left(const void *address);
/* Returns the bytes from the address to the end of the segments in which its graph has addresses,
 * or 0 for an address outside of graph memory. */
size_t graph_memory_bytes_left(const void *address);
void *graph_allocation_address(const struct graph_allocation *a);
/* Fills in the result of cudaGraphMemAllocNodeGetParams. The list of access rights in it lives as
 * long as the allocation. */
void graph_allocation_params(struct graph_allocation *a, struct cudaMemAllocNodeParams *p);
/* Called when a memory node is made, and when it is destroyed with its graph. */
void graph_allocation_add_node(struct node *n);
void graph_allocation_remove_node(struct node *n);
/* Called when the graph is destroyed. The graph's memory stays while anything is allocated there or
 * an executable graph uses it. */
void graph_memory_graph_destroyed(struct graph *g);

/* Called when an executable graph with a node for this allocation is made, and when it ends. */
void graph_allocation_add_exec(struct graph_allocation *a);
void graph_allocation_remove_exec(struct graph_allocation *a);

/* Backs these allocations with physical memory for a launch in stream `s` that comes after
 * everything in `before`. Sets `moved` if some of their addresses got other memory than before.
 * Returns false if the device has no memory left; then nothing has changed, and the stream waits
 * for nothing. */
bool graph_memory_back(struct graph_allocation *const *allocations, size_t count, struct stream *s,
                       const struct vector_clock *before, bool *moved);
/* Called when a launch is queued in `s`: the newest work there is its last use of the memory. */
void graph_memory_launched(struct graph_allocation *const *allocations, size_t count,
                           const struct stream *s);
/* Allocate and free in the order of `s`. A free with `s` NULL is a cudaFree. If no edge forbids it,
 * a free may come before the allocation of the same launch; the memory is still free after the
 * launch (measured: probe-graph-nodes.txt, "free_first"). */
void graph_allocation_alloc(const struct call *call, struct graph_allocation *a, struct stream *s);
void graph_allocation_free(const struct call *call, struct graph_allocation *a, struct stream *s);
/* Returns the allocation at this address, which is in a graph's memory. */
struct graph_allocation *graph_allocation_at(const struct address_info *info);

/* Releases memory as cudaDeviceGraphMemTrim does. */
void graph_memory_trim(int device);
/* Checks every invariant. Returns NULL, or a sentence about the first that does not hold. */
const char *graph_memory_is_valid(void);

#endif
