/* What programs give to calls about graphs: handles, lists of nodes, and the structures that
 * describe nodes. */
#ifndef SIM_API_GRAPH_ARGUMENTS_H
#define SIM_API_GRAPH_ARGUMENTS_H

#include <driver_types.h>

#include "base/origin.h"
#include "graph/graph.h"

/* ---- handles ---- */

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

/* ---- descriptions of nodes; all need the lock ---- */

/* Each makes the task `t` of a node on the device t->device, and returns cudaSuccess or the error
 * with which the parameters are rejected. `parameters` is a struct cudaMemsetParams for a memset, a
 * cudaMemcpy3DParms for a copy, and a cudaHostNodeParams for a host function. */
cudaError_t task_of_memset(struct task *t, const void *parameters);
cudaError_t task_of_copy_3d(struct task *t, const void *parameters);
cudaError_t task_of_host_function(struct task *t, const void *parameters);
/* A copy of one row. */
cudaError_t task_of_copy(struct task *t, void *to, const void *from, size_t bytes,
                         enum cudaMemcpyKind kind);

/* Return the parameters of one type from a cudaGraphNodeParams. */
struct cudaMemsetParams params_of_memset(const struct cudaGraphNodeParams *p);
struct cudaHostNodeParams params_of_host_function(const struct cudaGraphNodeParams *p);
struct cudaKernelNodeParams params_of_kernel(const struct cudaGraphNodeParams *p);

#endif
