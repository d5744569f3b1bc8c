/* Executable graphs and their launches.
 *
 * All of these functions need the lock. An executable graph lives until graph_exec_destroy, also
 * when its graph is destroyed before. */
#ifndef SIM_GRAPH_GRAPH_EXEC_H
#define SIM_GRAPH_GRAPH_EXEC_H

#include "graph/graph.h"
#include "sched/stream.h"

/* A node of an executable graph. */
struct exec_node {
    struct task task;
    /* The handle of the node that it was made of. */
    void *node_handle;
    size_t branch;
    /* The nodes of other branches that it waits for, as indices. */
    size_t *waits_for;
    size_t wait_count;
    /* The nodes that it depends on, as indices, in the order of the graph's edges. */
    size_t *dependencies;
    size_t dependency_count;
    /* A launch does nothing for it (cudaGraphNodeSetEnabled). */
    bool is_disabled;
    /* It depends on nothing. */
    bool is_root;
    /* Nothing depends on it. */
    bool is_last;
    /* A node of another branch waits for it. */
    bool is_waited_for;
    /* During a launch: its end, when another branch or the launch's stream waits for it. */
    struct record *record;
};

struct graph_exec {
    /* The number of its graph in the journal. */
    int id;
    void *handle;
    /* The handle of its graph, which may be destroyed. */
    void *graph_handle;
    unsigned long long flags;
    /* Its nodes, in an order that the edges allow. */
    struct exec_node *nodes;
    size_t count;
    /* What its nodes allocate. */
    struct graph_allocation **allocations;
    size_t allocation_count;
    size_t branch_count;
    /* The end of the last launch or upload: the next one comes after it (documented). */
    struct record *last_record;
};

/* Instantiates a graph. Returns cudaErrorInvalidValue when the edges form a cycle or a memset node
 * leaves its memory, and cudaErrorNotSupported when the graph has memory nodes and an executable
 * graph already (documented; the codes are measured: probe-graphs.txt, "graph_codes";
 * probe-graph-nodes.txt, "range_codes"). */
cudaError_t graph_exec_new(struct graph *g, unsigned long long flags, struct graph_exec **made);
void graph_exec_destroy(struct graph_exec *x);
/* Returns what the executable graph has of this node, or NULL. */
struct exec_node *graph_exec_find(struct graph_exec *x, const struct node *n);
/* May a memset node use these bytes? Measured (probe-graph-nodes.txt, "range"): all of the segments
 * that its graph has addresses in; of other memory, one allocation. */
bool graph_memset_fits(const struct task *t);
/* Backs the graph's memory for launches in `s`, behind the launches before; and nothing else. */
cudaError_t graph_exec_upload_unlocking(struct call *call, struct graph_exec *x, struct stream *s);
/* Puts all its work into the order of `s`. Both give the lock up when they have to wait until the
 * launch before is over. */
cudaError_t graph_exec_launch_unlocking(struct call *call, struct graph_exec *x, struct stream *s);

#endif
