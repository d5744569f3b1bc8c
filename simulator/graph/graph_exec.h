/* Executable graphs and their launches. An executable graph lives until graph_exec_destroy, even if
 * its graph is destroyed first. All functions here need the lock. */
#ifndef SIM_GRAPH_GRAPH_EXEC_H
#define SIM_GRAPH_GRAPH_EXEC_H

#include "graph/graph.h"
#include "sched/stream.h"

/* A node of an executable graph. */
struct exec_node {
    struct task task;
    /* The handle of the graph's node. */
    void *node_handle;
    size_t branch;
    /* The nodes of other branches for which this node waits, as indices. */
    size_t *waits_for;
    size_t wait_count;
    /* The nodes on which this node depends, as indices, in the order of the graph's edges. */
    size_t *dependencies;
    size_t dependency_count;
    /* Of a conditional node: the condition and the bodies that it chooses from. */
    struct exec_conditional {
        struct condition *condition;
        enum cudaGraphConditionalNodeType type;
        unsigned size;
        struct graph_exec **bodies;
    } * conditional;
    /* A launch skips the node (cudaGraphNodeSetEnabled). */
    bool is_disabled;
    /* The node depends on no other node. */
    bool is_root;
    /* No other node depends on this node. */
    bool is_last;
    /* A node of another branch waits for this node. */
    bool is_waited_for;
    /* During a launch: the node's end, if another branch or the launch's stream waits for it. */
    struct record *record;
};

struct graph_exec {
    /* The number of the graph in the journal. */
    int id;
    void *handle;
    /* The handle of the graph, which may have been destroyed. */
    void *graph_handle;
    /* The graph had memory or conditional nodes, so it may have no other executable graph
     * (measured: probe-odd-answers.txt, "graphs": nodes that it had before count). */
    bool is_the_only_one;
    unsigned long long flags;
    /* The number of the call that instantiated the graph, and the device that was current then. */
    uint32_t made_by;
    int device;
    /* The nodes, in an order that the edges allow. */
    struct exec_node *nodes;
    size_t count;
    /* The allocations of the nodes. */
    struct graph_allocation **allocations;
    size_t allocation_count;
    size_t branch_count;
    /* Some nodes are conditional. */
    bool has_conditionals;
    /* A launch waits for a condition, with the lock released. */
    bool is_waiting;
    /* The newest update if it was refused. Otherwise .call is NULL. */
    struct origin refused_update;
    /* The end of the last launch or upload. The next launch or upload follows it (documented). */
    struct record *last_record;
};

/* Instantiates a graph. Returns cudaErrorInvalidValue if the edges form a cycle, a memset node
 * leaves its memory, or a body has a node that no body may have; and cudaErrorNotSupported if the
 * graph has memory or conditional nodes and already has an executable graph (documented; the codes
 * are measured except for conditional nodes: probe-graphs.txt, "graph_codes";
 * probe-graph-nodes.txt, "range_codes"). */
cudaError_t graph_exec_new(struct graph *g, unsigned long long flags, struct graph_exec **made);
void graph_exec_destroy(struct graph_exec *x);
/* Returns the executable graph's copy of this node, or NULL. */
struct exec_node *graph_exec_find(struct graph_exec *x, const struct node *n);
/* Returns whether a memset node stays in its memory: the segments in which its graph has addresses,
 * or one allocation of other memory (measured: probe-graph-nodes.txt, "range"). */
bool graph_memset_fits(const struct task *t);
/* Backs the graph's memory for launches in `s`, after the earlier launches. Runs no node. */
cudaError_t graph_exec_upload_unlocking(struct call *call, struct graph_exec *x, struct stream *s);
/* Queues all the work of a graph in the order of `s`. Like an upload, it releases the lock while it
 * waits for the previous launch, and also at each conditional node until its condition is known. */
cudaError_t graph_exec_launch_unlocking(struct call *call, struct graph_exec *x, struct stream *s);

#endif
