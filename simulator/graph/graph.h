/* Graphs: nodes, each a task that a launch will do, and edges between them. What is captured, built
 * by hand and launched meets here. */
#ifndef SIM_GRAPH_GRAPH_H
#define SIM_GRAPH_GRAPH_H

#include <driver_types.h>

#include "check/shadow.h"

struct graph_allocation;
struct graph_memory;

enum task_kind {
    TASK_EMPTY,
    TASK_MEMSET,
    TASK_COPY,
    TASK_FILL,
    TASK_ADD,
    TASK_HOLD,
    TASK_HOST,
    TASK_RECORD,
    TASK_WAIT,
    TASK_ALLOCATE,
    TASK_FREE
};

/* What a node does; a plain value, so that an executable graph keeps its own copy. */
struct task {
    enum task_kind kind;
    /* The call that made it, and where that stands: what reports name. */
    const char *call;
    void *site;
    /* The block allocated last when it was made: its pointers are meant for none that came
     * later. */
    uint32_t newest_allocation;
    int device;
    char *to; /* memset, copy, kernels */
    const char *from;
    size_t count;           /* memset: elements; copy: bytes; kernels: ints */
    unsigned element_bytes; /* memset: bytes of one */
    int value;
    enum cudaMemcpyKind direction;
    bool peer;
    const volatile int *gate;
    void (*function)(void *);
    void *argument;
    void *event;                         /* its handle: it may be gone when the graph is launched */
    struct graph_allocation *allocation; /* of an allocation or free */
};

struct node {
    struct node *next; /* in the order in which they came */
    struct graph *graph;
    uint32_t id; /* in the graph, from 1 */
    void *handle;
    struct task task;
    struct node **dependencies; /* the nodes that it depends on */
    size_t dependency_count;
    size_t position;  /* in the order of the last graph_toposort */
    uint64_t visited; /* by the walk of this number */
};

struct graph {
    struct graph *next;
    int id; /* the journal's */
    void *handle;
    struct node *first, *last;
    size_t count;
    /* Of its allocation nodes, one for each device; NULL: none. */
    struct graph_memory *memory;
    /* Allocations or frees: only one executable graph at a time (documented). */
    bool has_memory_nodes;
    bool capturing;    /* a capture adds to it */
    bool instantiated; /* has_memory_nodes: that one exists */
};

struct graph *graph_new(void);
void graph_destroy(struct graph *g);

/* Adds a node that depends on `before`. */
struct node *graph_add_node(struct graph *g, const struct task *task,
                            struct node *const *dependencies, size_t count);
/* False when the edge is there already. */
bool graph_add_edge(struct node *from, struct node *to);
/* Marks these nodes and all that they depend on; then graph_is_visited tells. One marking at a
 * time. */
void graph_visit_ancestors(struct node *const *nodes, size_t count);
bool graph_is_visited(const struct node *n);
/* All nodes, each after those that it depends on; among equals, in the order in which they came.
 * False: the edges lead round in a circle. */
bool graph_toposort(struct graph *g, struct node **sorted);

enum cudaGraphNodeType task_type(const struct task *t);

#endif
