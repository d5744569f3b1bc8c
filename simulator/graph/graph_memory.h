/* The memory of graphs' allocation nodes. Addresses belong to the graph and never change; physical
 * memory belongs to the device's graph memory, and graphs that cannot run at the same time share
 * it.
 *
 *   graph 1  addresses | block A, then block C | block B |        a step of addresses (32 MiB) is backed by a
 *   graph 2  addresses | block D |                                step of physical memory from its first launch on
 *   device   physical  | step | step | step |
 *
 * Sources: the CUDA programming guide, "graph memory nodes" (documented);
 * tests/hardware/facts/one-gpu.txt, "graph memory nodes" (measured). */
#ifndef SIM_GRAPH_GRAPH_MEMORY_H
#define SIM_GRAPH_GRAPH_MEMORY_H

#include "graph/graph.h"
#include "graph/graph_segments.h"
#include "mem/memory.h"

/* What an allocation node allocates, once in each launch. */
struct graph_allocation {
    struct graph_allocation *next;
    struct graph_memory *memory;
    struct node *allocated_by; /* NULL: its graph is destroyed */
    struct node *freed_by;     /* the free node in the same graph; NULL: none */
    bool freed_elsewhere;      /* another graph has a free node for it */
    size_t offset, bytes;
    uint32_t peer_rights;                  /* bit d: asked for device d */
    struct cudaMemAccessDesc *access_list; /* the same, as the program last asked for it */
    struct range *range;                   /* while it is allocated */
    struct origin last_free;               /* the last free; .call NULL: none */
    /* During a launch: its free came here, before its allocation. */
    struct stream *early_free_stream;
    uint64_t early_free_seq;
    struct origin early_free_origin;
};

/* An address for a new allocation node of `g` that depends on `before` (graph/graph_va.h says
 * which). NULL: there is none. */
struct graph_allocation *graph_allocation_new(struct graph *g, int device, size_t bytes,
                                              uint32_t peer_rights,
                                              struct node *const *dependencies, size_t count);
/* The block that an address means for a free node: of `g` itself, or one that another graph leaves
 * allocated. NULL: none that may be freed. */
struct graph_allocation *graph_allocation_to_free(struct graph *g, const void *address);
/* Bytes from the address to the end of the block there that a node of a graph allocates; 0: there
 * is none. */
size_t graph_allocation_bytes_left(const void *address);
/* Bytes from the address to the end of the steps that its graph has addresses in; 0: it is in no
 * graph's memory. */
size_t graph_memory_bytes_left(const void *address);
void *graph_allocation_address(const struct graph_allocation *a);
/* As cudaGraphMemAllocNodeGetParams answers. */
void graph_allocation_params(struct graph_allocation *a, struct cudaMemAllocNodeParams *p);
/* A node with a block comes into being; goes with its graph. */
void graph_allocation_add_node(struct node *n);
void graph_allocation_remove_node(struct node *n);
/* The graph is gone, its memory stays while blocks are allocated or executable graphs use it. */
void graph_memory_graph_destroyed(struct graph *g);

/* An executable graph with this block begins and ends. */
void graph_allocation_add_exec(struct graph_allocation *a);
void graph_allocation_remove_exec(struct graph_allocation *a);

/* Physical memory for a launch in stream `s` of a graph that has these blocks; false: the device
 * has no more, and all is as it was. `moved`: some of their addresses have other memory than
 * before. */
bool graph_memory_back(struct graph_allocation *const *allocations, size_t count, struct stream *s,
                       bool *moved);
/* That launch ends with work `s->last`. */
void graph_memory_launched(struct graph_allocation *const *allocations, size_t count,
                           const struct stream *s);
/* The allocation and the free of a block in the order of `s`; NULL: by cudaFree. In a launch the
 * free may come first: no edge need forbid it, and after the launch the block is freed all the same
 * (measured: probe-graph-nodes.txt, "free_first"). */
void graph_allocation_alloc(const struct call *call, struct graph_allocation *a, struct stream *s);
void graph_allocation_free(const struct call *call, struct graph_allocation *a, struct stream *s);
/* The block that is allocated at this place, which is in a graph's memory. */
struct graph_allocation *graph_allocation_at(const struct address_info *info);

/* cudaDeviceGraphMemTrim. */
void graph_memory_trim(int device);
struct graph_figures *graph_memory_figures(int device);
/* Walks every law; NULL, or a sentence about the first that does not hold. */
const char *graph_memory_is_valid(void);

#endif
