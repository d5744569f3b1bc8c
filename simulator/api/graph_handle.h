/* Finds graphs, nodes, and executable graphs by their handles, and makes lists of nodes. */
#ifndef SIM_API_GRAPH_HANDLE_H
#define SIM_API_GRAPH_HANDLE_H

#include <driver_types.h>

#include "base/origin.h"
#include "graph/graph.h"

struct graph_exec;

/* Return the graph, node, or executable graph of a handle, or NULL for a null handle. The call's
 * line gets the graph, or the one from which an executable graph was made. A handle that is invalid
 * or was destroyed ends the process with a sentence. */
struct graph *graph_of(struct call *call, cudaGraph_t handle);
struct node *node_of(struct call *call, cudaGraphNode_t handle);
struct graph_exec *graph_exec_of(struct call *call, cudaGraphExec_t handle);
/* Makes a list of nodes of `g` without duplicates, which the caller frees. Returns
 * cudaErrorInvalidValue for a node of another graph or a duplicate, and cudaErrorNotSupported for
 * edges with data, which are not simulated. After an error the list is NULL. */
cudaError_t graph_nodes_of(struct call *call, const struct graph *g, const cudaGraphNode_t *handles,
                           const cudaGraphEdgeData *data, size_t count, struct node ***nodes);

#endif
