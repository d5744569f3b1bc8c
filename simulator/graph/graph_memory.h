/* The memory of graphs' allocation nodes. Addresses belong to the graph and never change; physical memory belongs to the device's graph memory, and
 * graphs that cannot run at the same time share it.
 *
 *   graph 1  addresses | block A, then block C | block B |        a step of addresses (32 MiB) is backed by a
 *   graph 2  addresses | block D |                                step of physical memory from its first launch on
 *   device   physical  | step | step | step |
 *
 * Sources: the CUDA programming guide, "graph memory nodes" (documented); tests/facts/one-gpu.txt, "graph memory nodes" (measured). */
#ifndef SIM_GRAPH_GRAPH_MEMORY_H
#define SIM_GRAPH_GRAPH_MEMORY_H

#include "graph/graph.h"
#include "graph/graph_segments.h"
#include "mem/memory.h"

/* What an allocation node allocates, once in each launch. */
struct graph_block {
    struct graph_block  *next;
    struct graph_memory *memory;
    struct node         *allocated_by; /* NULL: its graph is destroyed */
    struct node         *freed_by;     /* the free node in the same graph; NULL: none */
    bool                 freed_elsewhere;      /* another graph has a free node for it */
    size_t               offset, bytes;
    uint32_t             access;       /* bit d: asked for device d */
    struct cudaMemAccessDesc *list;    /* the same, as the program last asked for it */
    struct chunk        *chunk;        /* while it is allocated */
    struct deed          freed;        /* the last free; .call NULL: none */
    struct stream       *freed_early;  /* during a launch: its free came here, before its allocation */
    uint64_t             freed_early_number;
    struct deed          freed_early_by;
};

/* An address for a new allocation node of `g` that depends on `before` (graph/graph_va.h says which). NULL: there is none. */
struct graph_block *graph_block_new(struct graph *g, int device, size_t bytes, uint32_t access, struct node *const *before, size_t count);
/* The block that an address means for a free node: of `g` itself, or one that another graph leaves allocated. NULL: none that may be freed. */
struct graph_block *graph_block_to_free(struct graph *g, const void *address);
/* Bytes from the address to the end of the block there that a node of a graph allocates; 0: there is none. */
size_t graph_block_room(const void *address);
/* Bytes from the address to the end of the steps that its graph has addresses in; 0: it is in no graph's memory. */
size_t graph_memory_room(const void *address);
void *graph_block_address(const struct graph_block *b);
/* As cudaGraphMemAllocNodeGetParams answers. */
void graph_block_parameters(struct graph_block *b, struct cudaMemAllocNodeParams *p);
/* A node with a block comes into being; goes with its graph. */
void graph_block_keep(struct node *n);
void graph_block_forget(struct node *n);
/* The graph is gone, its memory stays while blocks are allocated or executable graphs use it. */
void graph_memory_leave(struct graph *g);

/* An executable graph with this block begins and ends. */
void graph_block_instantiated(struct graph_block *b);
void graph_block_released(struct graph_block *b);

/* Physical memory for a launch in stream `s` of a graph that has these blocks; false: the device has no more, and all is as it was.
 * `moved`: some of their addresses have other memory than before. */
bool graph_memory_back(struct graph_block *const *blocks, size_t count, struct stream *s, bool *moved);
/* That launch ends with work `s->last`. */
void graph_memory_launched(struct graph_block *const *blocks, size_t count, const struct stream *s);
/* The allocation and the free of a block in the order of `s`; NULL: by cudaFree. In a launch the free may come first: no edge need forbid it, and
 * after the launch the block is freed all the same (measured: probe-graph-nodes.txt, "free_first"). */
void graph_block_allocate(struct graph_block *b, struct stream *s);
void graph_block_free(struct graph_block *b, struct stream *s);
/* The block that is allocated at this place, which is in a graph's memory. */
struct graph_block *graph_block_at(const struct place *p);

/* cudaDeviceGraphMemTrim. */
void graph_memory_trim(int device);
struct graph_figures *graph_memory_figures(int device);
/* Walks every law; NULL, or a sentence about the first that does not hold. */
const char *graph_memory_is_valid(void);

#endif
