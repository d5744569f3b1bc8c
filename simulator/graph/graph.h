/* Graphs: nodes, each a task that a launch will do, and edges between them. What is captured, built
 * by hand and launched meets here.
 *
 * All of these functions need the lock. A graph and its nodes live until graph_destroy. */
#ifndef SIM_GRAPH_GRAPH_H
#define SIM_GRAPH_GRAPH_H

#include <driver_types.h>

#include "check/shadow.h"
#include "run/commands.h"
#include "run/nvcc_kernel.h"
#include "run/user_kernel.h"

struct graph_allocation;
struct graph_memory;

enum task_kind {
    TASK_EMPTY,
    TASK_MEMSET,
    TASK_COPY,
    TASK_FILL,
    TASK_ADD,
    TASK_HOLD,
    TASK_USER_KERNEL,
    TASK_NVCC_KERNEL,
    TASK_HOST,
    TASK_RECORD,
    TASK_WAIT,
    TASK_ALLOCATE,
    TASK_FREE,
    /* In a graph alone: an executable one has the child's nodes in its place. */
    TASK_CHILD
};

/* What a node does; a plain value, so that an executable graph keeps its own copy. */
struct task {
    enum task_kind kind;
    /* The call that made it and where it stands in the program, which reports name. */
    const char *call;
    void *site;
    /* The newest allocation when the node was made. Its pointers cannot mean a later one. */
    uint32_t newest_allocation;
    int device;
    /* The destination of a memset, copy or kernel. */
    char *to;
    /* The source of a copy. */
    const char *from;
    /* What a memset or copy touches. */
    struct rows rows;
    /* The ints of a kernel. */
    size_t count;
    /* The bytes of one element of a memset. */
    unsigned element_bytes;
    /* What a memset or kernel writes or adds. */
    int value;
    enum cudaMemcpyKind direction;
    /* The copy is a call of cudaMemcpyPeer or cudaMemcpyPeerAsync. */
    bool peer;
    /* What a hold waits for. */
    const volatile int *gate;
    /* How a kernel is launched, where the program says it: all 0 in a captured one. */
    struct {
        dim3 grid, block;
        unsigned shared_bytes;
    } shape;
    /* The launch of a program's own kernel. A task in a node, or in an executable graph's, owns
     * it. */
    struct user_kernel *user_kernel;
    /* The same of one that nvcc built. */
    struct nvcc_kernel *nvcc_kernel;
    /* A host function and its argument. */
    void (*function)(void *);
    void *argument;
    /* The handle of an event, which may be gone when the graph is launched. */
    void *event;
    /* What an allocation or free node allocates or frees. */
    struct graph_allocation *allocation;
    /* The graph of a child node, which owns it. */
    struct graph *child;
};

struct node {
    /* The nodes of a graph, in the order in which they came. */
    struct node *next;
    struct graph *graph;
    /* Its number in the graph, from 1; that of a node that is gone serves no other. */
    uint32_t id;
    void *handle;
    struct task task;
    /* What its kernel's parameters were last returned in (graph/kernel_node.c), or NULL. */
    struct kernel_arguments *arguments;
    /* The nodes that it depends on. */
    struct node **dependencies;
    size_t dependency_count;
    /* Its index in the order of the last graph_toposort. */
    size_t position;
    /* The number of the last walk that came here. */
    uint64_t visited;
};

struct graph {
    /* Its number in the journal. */
    int id;
    void *handle;
    /* The graph of the child node that owns this one, or NULL. */
    struct graph *parent;
    struct node *first, *last;
    size_t count;
    uint32_t last_node_id;
    /* The memory of its allocation nodes: a list with one entry for each device, or NULL. */
    struct graph_memory *memory;
    /* It has allocation or free nodes, so it may have only one executable graph (documented). */
    bool has_memory_nodes;
    /* A capture adds to it. */
    bool capturing;
    /* It has an executable graph; kept up to date for graphs with memory nodes alone. */
    bool instantiated;
};

struct graph *graph_new(void);
/* Returns a graph with the same nodes and edges, which has no memory nodes. */
struct graph *graph_clone(const struct graph *g);
/* Frees the graph with its nodes and their graphs. Its executable graphs stay. */
void graph_destroy(struct graph *g);

/* Adds a node with a copy of `task`, and of what that owns, which depends on `count` nodes. Returns
 * the node. */
struct node *graph_add_node(struct graph *g, const struct task *task,
                            struct node *const *dependencies, size_t count);
/* Makes `child`, which has no parent, the graph of this child node. */
void graph_set_child(struct node *n, struct graph *child);
/* Makes `to` depend on `from`. Returns false when it does already. */
bool graph_add_edge(struct node *from, struct node *to);
bool graph_has_edge(const struct node *from, const struct node *to);
/* Takes an edge away, which is there. */
void graph_remove_edge(const struct node *from, struct node *to);
/* Frees a node with its edges, of a graph without memory nodes. */
void graph_remove_node(struct node *n);
/* Visits these nodes and all that they depend on. Until the next walk of any graph,
 * graph_is_visited returns true for these and for no others. */
void graph_visit_ancestors(struct node *const *nodes, size_t count);
bool graph_is_visited(const struct node *n);
/* Puts all nodes into `sorted`, each after those that it depends on; among equals, in the order in
 * which they came. Returns false when the edges form a cycle. */
bool graph_toposort(struct graph *g, struct node **sorted);

/* Returns the nodes as graph_toposort does, but the nodes of a child graph in the place of its
 * node: its first ones depend on what that depends on, and an empty node with the handle of the
 * child node stands behind its last ones. They are copies, which own nothing, and `position` is
 * their index in the array. NULL: the edges form a cycle. The caller frees them with
 * graph_free_flat. */
struct node **graph_flatten(struct graph *g, size_t *count);
void graph_free_flat(struct node **nodes, size_t count);

/* Returns a copy of the task, with a copy of what it owns, but for a child graph; task_release
 * frees that. */
struct task task_copy(const struct task *t);
void task_release(struct task *t);
/* The type that cudaGraphNodeGetType returns. */
enum cudaGraphNodeType task_type(const struct task *t);

#endif
