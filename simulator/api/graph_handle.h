/* What the program holds of graphs: their handles, and lists of them. */
#ifndef SIM_API_GRAPH_HANDLE_H
#define SIM_API_GRAPH_HANDLE_H

#include <driver_types.h>

#include "base/origin.h"
#include "graph/graph.h"

struct graph_exec;

/* The graph, node or executable graph of a handle; NULL for a null handle. A graph goes into the
 * call's line, and so does the graph that an executable one was made from. A handle that is none,
 * or is destroyed, ends the process with a sentence. */
struct graph *graph_of(struct call *call, cudaGraph_t handle);
struct node *node_of(struct call *call, cudaGraphNode_t handle);
struct graph_exec *graph_exec_of(struct call *call, cudaGraphExec_t handle);
/* A list of nodes of `g` without duplicates; the caller frees it. cudaErrorInvalidValue: a node of
 * another graph, or twice the same. cudaErrorNotSupported: edges with data are not simulated. After
 * an error the list is NULL. */
cudaError_t graph_nodes_of(struct call *call, const struct graph *g, const cudaGraphNode_t *handles,
                           const cudaGraphEdgeData *data, size_t count, struct node ***nodes);

#endif
