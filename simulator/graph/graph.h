/* Graphs: nodes, each with a task for a launch, and edges between them. Capturing, building by
 * hand, and launching all use them. A graph and its nodes live until graph_destroy. All of this
 * needs the lock. */
#ifndef SIM_GRAPH_GRAPH_H
#define SIM_GRAPH_GRAPH_H

#include <driver_types.h>

#include "check/shadow.h"
#include "run/commands.h"
#include "run/condition.h"
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
    TASK_CONDITIONAL,
    /* Only in a graph, because an executable graph has the child's nodes instead. */
    TASK_CHILD
};

/* What a node does: a plain value, so that an executable graph can have a copy. */
struct task {
    enum task_kind kind;
    /* For reports: the call that made the node, and the call's site. */
    const char *call;
    void *site;
    /* The newest allocation when the node was made. No pointer of the node refers to a later
     * one. */
    uint32_t newest_allocation;
    /* A capture has made the node. Once a graph is flattened: a child graph has it. */
    bool is_captured, is_nested;
    int device;
    /* The destination of a memset, copy or kernel. */
    char *to;
    /* The source of a copy. */
    const char *from;
    /* The bytes of a memset or copy. */
    struct rows rows;
    /* The number of ints of a kernel. */
    size_t count;
    /* The size of a memset's element. */
    unsigned element_bytes;
    /* The value that a memset or kernel writes or adds. */
    int value;
    enum cudaMemcpyKind direction;
    /* The gate of a hold. */
    const volatile int *gate;
    /* The shape with which the program launches a kernel node that it built. All 0 if captured. */
    struct {
        dim3 grid, block;
        unsigned shared_bytes;
    } shape;
    /* The launch of a program's own kernel, owned by the task of a node or executable graph. */
    struct user_kernel *user_kernel;
    /* The launch of a kernel that nvcc built, owned by the task of a node or executable graph. */
    struct nvcc_kernel *nvcc_kernel;
    /* A host function and its argument. */
    void (*function)(void *);
    void *argument;
    /* The handle of an event, which may have been destroyed when the graph is launched. */
    void *event;
    /* The allocation of an allocation or free node. */
    struct graph_allocation *allocation;
    /* The graph of a child node, which owns it. */
    struct graph *child;
    /* What a conditional node runs. The node owns it. An executable graph has it in the node. */
    struct conditional *conditional;
};

/* What a conditional node runs. */
struct conditional {
    struct condition *condition;
    enum cudaGraphConditionalNodeType type;
    unsigned size;
    struct graph **bodies;
    /* The handles of the bodies, for the program. */
    cudaGraph_t *handles;
};

struct node {
    /* The graph's next node, in the order in which the nodes were added. */
    struct node *next;
    struct graph *graph;
    /* The node's number in its graph, from 1. Numbers of removed nodes are not reused. */
    uint32_t id;
    void *handle;
    struct task task;
    /* The answer to the last query of the kernel's parameters (graph/kernel_node.c), or NULL. */
    struct kernel_arguments *arguments;
    /* The nodes on which this node depends. */
    struct node **dependencies;
    size_t dependency_count;
    /* The nodes that depend on this node, in the order in which their edges were added. */
    struct node **dependents;
    size_t dependent_count;
    /* While the node has no dependencies: when it lost the last one, or was added without one. */
    uint32_t root_number;
    /* The node's index in the last order of its graph (graph_flatten). */
    size_t position;
    /* The number of the last walk that visited the node. */
    uint64_t visited;
};

struct graph {
    /* The graph's number in the journal. */
    int id;
    void *handle;
    /* The graph that contains the child or conditional node that owns this graph, or NULL. */
    struct graph *parent;
    /* The graph is a body of a conditional node. */
    bool is_body;
    struct condition *conditions;
    struct node *first, *last;
    size_t count;
    uint32_t last_node_id, last_root_number;
    /* The memory of the graph's allocation nodes: NULL, or a list with one entry a device. */
    struct graph_memory *memory;
    /* The graph has memory nodes, so it may have only one executable graph (documented). */
    bool has_memory_nodes;
    /* A capture is adding nodes to the graph. */
    bool capturing;
    /* A capture that failed has added to it, and no call accepts it any more. */
    bool lost;
    /* The one executable graph of a graph with memory or conditional nodes exists. */
    bool instantiated;
};

struct graph *graph_new(void);
/* Returns a graph with the same nodes and edges. There must be no memory nodes. */
struct graph *graph_clone(const struct graph *g);
/* Frees the graph with its nodes and their graphs, but not its executable graphs. */
void graph_destroy(struct graph *g);

/* Adds a node that depends on `count` nodes, with a copy of `task` and of what it owns. Returns the
 * node. */
struct node *graph_add_node(struct graph *g, const struct task *task,
                            struct node *const *dependencies, size_t count);
/* Gives this child node the graph `child`, which has no parent. */
void graph_set_child(struct node *n, struct graph *child);
/* Makes a condition for conditional nodes of `g` and of graphs in it. */
struct condition *graph_new_condition(struct graph *g, int device);
/* Removes one holder of the condition. The last one frees it. */
void condition_release(struct condition *c);
/* Gives a conditional node its condition, and as many empty graphs as it has bodies. */
void graph_set_conditional(struct node *n, struct condition *c,
                           enum cudaGraphConditionalNodeType type, unsigned size);
bool graph_has_conditionals(const struct graph *g);
/* Makes `to` depend on `from`. Returns false if the edge exists already. */
bool graph_add_edge(struct node *from, struct node *to);
bool graph_has_edge(const struct node *from, const struct node *to);
/* Removes an edge, which must exist. */
void graph_remove_edge(struct node *from, struct node *to);
/* Frees a node with its edges. The graph must have no memory nodes. */
void graph_remove_node(struct node *n);
/* Visits these nodes and all nodes on which they depend. Until the next walk over any graph,
 * graph_is_visited returns true for exactly the visited nodes. */
void graph_visit_ancestors(struct node *const *nodes, size_t count);
bool graph_is_visited(const struct node *n);

/* Returns the nodes, each after its dependencies, otherwise in the order in which they were added.
 * A child node is replaced by the nodes of its graph, the first of which depend on what the child
 * node depends on, and an empty node with its handle. The nodes are copies that own nothing, and
 * `position` is a node's index in the array. Returns NULL if the edges form a cycle. The caller
 * frees the nodes with graph_free_flat. */
struct node **graph_flatten(struct graph *g, size_t *count);
void graph_free_flat(struct node **nodes, size_t count);

/* Copies the task and what it owns, except for a child graph. task_release frees such a copy. */
struct task task_copy(const struct task *t);
void task_release(struct task *t);
/* Returns the type for cudaGraphNodeGetType. */
enum cudaGraphNodeType task_type(const struct task *t);

#endif
