/* Executable graphs and their launches. */
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include "graph.h"
#include "stream.h"

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
    struct record *last;               /* the end of the last launch: the next one comes after it (documented) */
};

/* Instantiates a graph. cudaErrorInvalidValue: the edges lead round in a circle, or a memset node leaves its memory; cudaErrorNotSupported: the graph has memory
 * nodes and an executable graph already (documented; the codes are measured). */
cudaError_t exec_new(struct graph *g, unsigned long long flags, struct exec **made);
void exec_destroy(struct exec *x);
/* Physical memory for launches in `s`, and nothing else. */
cudaError_t exec_upload(struct exec *x, struct stream *s);
/* Puts all its work into the order of `s`. */
cudaError_t exec_launch(struct exec *x, struct stream *s);

#endif
