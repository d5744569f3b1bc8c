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

/* Makes the task `t` of a node on the device t->device, and returns cudaSuccess or the error with
 * which the parameters are rejected. */
typedef cudaError_t task_maker(struct task *t, const void *parameters);
/* `parameters` is a struct cudaMemsetParams, a cudaMemcpy3DParms, a cudaHostNodeParams, and for a
 * copy of one row a struct copy_1d. */
task_maker task_of_memset, task_of_copy_3d, task_of_host_function, task_of_copy;
struct copy_1d {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
};

/* ---- calls that launch, add and change ---- */

/* Launches a kernel of kernels.h that writes numbers. */
cudaError_t launch_writer(struct call *call, enum task_kind kind, int *data, int value,
                          size_t count, cudaStream_t stream);

/* Launches an executable graph or, if `uploads`, only backs its memory. */
cudaError_t graph_launch_unlocking(struct call *call, cudaGraphExec_t exec, cudaStream_t stream,
                                   bool uploads);

/* The description of a node, by its type and the parameters of that type. */
#define NODE_PARAMS(...) \
    &(struct cudaGraphNodeParams) { __VA_ARGS__ }

/* Adds a node with the task that `make` makes of `parameters`. NULL parameters are rejected. */
cudaError_t graph_add(struct call *call, cudaGraphNode_t *node, cudaGraph_t graph,
                      const cudaGraphNode_t *dependencies, size_t count, task_maker *make,
                      const void *parameters);
/* Give a node of this kind another task of the same kind, in a graph or an executable graph. */
cudaError_t graph_change(struct call *call, cudaGraphNode_t node, enum task_kind kind,
                         task_maker *make, const void *parameters);
cudaError_t graph_exec_change(struct call *call, cudaGraphExec_t exec, cudaGraphNode_t node,
                              enum task_kind kind, task_maker *make, const void *parameters);
/* Returns the task of a node of this kind, or NULL. */
const struct task *graph_task(struct call *call, cudaGraphNode_t node, enum task_kind kind);

/* Lists the nodes of a graph, or only those that depend on none, or the nodes on which a node
 * depends, or its dependents. */
cudaError_t graph_list_nodes(struct call *call, cudaGraph_t graph, cudaGraphNode_t *nodes,
                             size_t *count, bool roots);
cudaError_t graph_list_neighbors(struct call *call, cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                 cudaGraphEdgeData *data, size_t *count, bool dependents);

/* What calls of calls.def do whose parameters have these names in NVIDIA's header: add a node of
 * the type and parameters that follow, or with this task, or store a member of a node's task. */
#define ADD_NODE(...)                                                                  \
    do_cudaGraphAddNode(call, pGraphNode, graph, pDependencies, NULL, numDependencies, \
                        NODE_PARAMS(__VA_ARGS__))
#define ADD_TASK(...) \
    graph_add(call, pGraphNode, graph, pDependencies, numDependencies, __VA_ARGS__)
#define STORE_OF_TASK(kind, pointer, member)                               \
    STORE_OF(graph_task(call, node, kind), cudaErrorInvalidValue, pointer, \
             graph_task(call, node, kind)->member)

#endif
