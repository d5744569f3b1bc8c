/* Executable graphs and their launches. */
#ifndef SIM_GRAPH_GRAPH_EXEC_H
#define SIM_GRAPH_GRAPH_EXEC_H

#include "graph/graph.h"
#include "sched/stream.h"

/* A node of an executable graph. */
struct exec_node {
    struct task task;
    size_t branch;
    size_t *waits_for; /* plans in other lanes that it waits for */
    size_t wait_count;
    bool is_root;
    bool is_last;       /* nothing depends on it */
    bool is_waited_for; /* from another lane */
    /* During a launch, if is_waited_for or the launch's stream waits for it. */
    struct record *record;
};

struct graph_exec {
    int id; /* of its graph, for the journal */
    void *handle;
    /* The handle of the graph it was made from; that may be gone. */
    void *graph_handle;
    unsigned long long flags;
    /* One for each node, in an order that the edges allow. */
    struct exec_node *nodes;
    size_t count;
    struct graph_allocation **allocations; /* that its nodes allocate */
    size_t allocation_count;
    size_t branch_count;
    /* The end of the last launch or upload: the next one comes after it (documented). */
    struct record *last_record;
};

/* Instantiates a graph. cudaErrorInvalidValue: the edges lead round in a circle, or a memset node
 * leaves its memory; cudaErrorNotSupported: the graph has memory nodes and an executable graph
 * already (documented; the codes are measured). */
cudaError_t graph_exec_new(struct graph *g, unsigned long long flags, struct graph_exec **made);
void graph_exec_destroy(struct graph_exec *x);
/* Physical memory for launches in `s`, behind the launches before; and nothing else. */
cudaError_t graph_exec_upload(struct call *call, struct graph_exec *x, struct stream *s);
/* Puts all its work into the order of `s`. */
cudaError_t graph_exec_launch(struct call *call, struct graph_exec *x, struct stream *s);

#endif
