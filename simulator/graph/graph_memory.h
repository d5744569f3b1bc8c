/* The memory of graphs' allocation nodes. Addresses belong to the graph and never change. Physical
 * memory belongs to the device, and graphs that cannot run at the same time share it. A segment of
 * addresses (32 MiB) has a physical segment from the graph's first launch on.
 *
 *   graph 1  addresses | allocation A, then C | allocation B |
 *   graph 2  addresses | allocation D |
 *   device   physical  | segment | segment | segment |
 *
 * A graph_allocation lives as long as its graph_memory: until the graph, all executable graphs with
 * its allocations, and all these allocations are gone. All of these functions need the lock.
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
    /* Another graph has a free node for it. */
    bool freed_elsewhere;
    /* Its graph has been instantiated with the node. */
    bool instantiated;
    size_t offset, bytes;
    /* Bit d: the node requires access for device d. */
    uint32_t peer_rights;
    /* `peer_rights` as a list, once cudaGraphMemAllocNodeGetParams has returned it. */
    struct cudaMemAccessDesc *access_list;
    /* Its range of the heap while it is allocated, or NULL. */
    struct range *range;
    /* Its last free; .call is NULL if there was none. */
    struct origin last_free;
    /* During a launch: the free, if it came before the allocation. */
    struct stream *early_free_stream;
    uint64_t early_free_seq;
    struct origin early_free_origin;
};

/* Takes addresses for a new allocation node of `g` that depends on `count` nodes (graph/graph_va.h
 * has the rule). Returns NULL if there are none. */
struct graph_allocation *graph_allocation_new(struct graph *g, int device, size_t bytes,
                                              uint32_t peer_rights,
                                              struct node *const *dependencies, size_t count);
/* Returns the allocation that a free node in `g` means by an address: one of `g` itself, or one
 * that another graph, perhaps destroyed by now, leaves allocated. Returns NULL if none may be
 * freed. */
struct graph_allocation *graph_allocation_to_free(struct graph *g, const void *address);
/* Returns the bytes from the address to the end of the allocation that a graph node makes there, or
 * 0 if there is none. */
size_t graph_allocation_bytes_left(const void *address);
/* Returns the bytes from the address to the end of the segments in which its graph has addresses,
 * or 0 if it is in no graph's memory. */
size_t graph_memory_bytes_left(const void *address);
void *graph_allocation_address(const struct graph_allocation *a);
/* Fills in the result of cudaGraphMemAllocNodeGetParams. The list lives as long as the
 * allocation. */
void graph_allocation_params(struct graph_allocation *a, struct cudaMemAllocNodeParams *p);
/* Called for a new memory node, and when one is destroyed with its graph. */
void graph_allocation_add_node(struct node *n);
void graph_allocation_remove_node(struct node *n);
/* Called when the graph is destroyed. Its memory stays while anything is allocated there or an
 * executable graph uses it. */
void graph_memory_graph_destroyed(struct graph *g);

/* Called when an executable graph with a node for this allocation begins, and when it ends. */
void graph_allocation_add_exec(struct graph_allocation *a);
void graph_allocation_remove_exec(struct graph_allocation *a);

/* Backs these allocations with physical memory for a launch in stream `s` that comes after
 * everything in `before`. Sets `moved` if some of their addresses got other memory than before.
 * Returns false if the device has no more; then nothing has changed, and the stream waits for
 * nothing. */
bool graph_memory_back(struct graph_allocation *const *allocations, size_t count, struct stream *s,
                       const struct vector_clock *before, bool *moved);
/* Called when all work of that launch is in `s`: its last use of the memory is the newest work
 * there. */
void graph_memory_launched(struct graph_allocation *const *allocations, size_t count,
                           const struct stream *s);
/* Allocate and free in the order of `s`. A free with `s` NULL is a cudaFree. In a launch the free
 * may come first, unless an edge forbids it, and after the launch the allocation is still freed
 * (measured: probe-graph-nodes.txt, "free_first"). */
void graph_allocation_alloc(const struct call *call, struct graph_allocation *a, struct stream *s);
void graph_allocation_free(const struct call *call, struct graph_allocation *a, struct stream *s);
/* Returns the allocation at this address, which is in a graph's memory. */
struct graph_allocation *graph_allocation_at(const struct address_info *info);

/* Releases memory as cudaDeviceGraphMemTrim does. */
void graph_memory_trim(int device);
/* Returns the current figures of a device. */
struct graph_figures *graph_memory_figures(int device);
/* Checks every invariant. Returns NULL, or a sentence about the first that does not hold. */
const char *graph_memory_is_valid(void);

#endif
