/* What the program holds of graphs: their handles, and lists of them. Part of the skin. */
#ifndef SIM_GRAPH_GRAPH_HANDLE_H
#define SIM_GRAPH_GRAPH_HANDLE_H

#include <driver_types.h>

#include "graph/graph.h"

struct graph_exec;

/* The graph, node or executable graph of a handle, which goes to the journal; NULL for a null
 * handle. One that is none, or is destroyed, ends the process with a sentence. */
struct graph *graph_of(cudaGraph_t handle);
struct node *node_of(cudaGraphNode_t handle);
struct graph_exec *graph_exec_of(cudaGraphExec_t handle);
/* A list of nodes of `g` without duplicates; the caller frees it. cudaErrorInvalidValue: a node of
 * another graph, or twice the same; edges with data are not simulated: cudaErrorNotSupported. */
cudaError_t graph_nodes_of(const struct graph *g, const cudaGraphNode_t *handles,
                           const cudaGraphEdgeData *data, size_t count, struct node ***nodes);

#endif
