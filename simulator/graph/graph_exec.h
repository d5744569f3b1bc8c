/* Executable graphs and their launches. */
#ifndef SIM_GRAPH_GRAPH_EXEC_H
#define SIM_GRAPH_GRAPH_EXEC_H

#include "graph/graph.h"
#include "sched/stream.h"

/* A node of an executable graph. */
struct plan {
    struct task  task;
    size_t       lane;
    size_t      *before;               /* plans in other lanes that it waits for */
    size_t       before_count;
    bool         is_root;
    bool         is_last;              /* nothing depends on it */
    bool         is_waited_for;        /* from another lane */
    struct record *record;             /* during a launch, if is_waited_for or the launch's stream waits for it */
};

struct exec {
    int            id;                 /* of its graph, for the journal */
    void          *handle;
    void          *graph;              /* the handle of the graph it was made from; that may be gone */
    unsigned long long flags;
    struct plan   *plans;              /* one for each node, in an order that the edges allow */
    size_t         count;
    struct graph_block **blocks;       /* that its nodes allocate */
    size_t         block_count;
    size_t         lanes;
    struct record *last;               /* the end of the last launch or upload: the next one comes after it (documented) */
};

/* Instantiates a graph. cudaErrorInvalidValue: the edges lead round in a circle, or a memset node leaves its memory; cudaErrorNotSupported: the graph has memory
 * nodes and an executable graph already (documented; the codes are measured). */
cudaError_t exec_new(struct graph *g, unsigned long long flags, struct exec **made);
void exec_destroy(struct exec *x);
/* Physical memory for launches in `s`, behind the launches before; and nothing else. */
cudaError_t exec_upload(struct exec *x, struct stream *s);
/* Puts all its work into the order of `s`. */
cudaError_t exec_launch(struct exec *x, struct stream *s);

#endif
