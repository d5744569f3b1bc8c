/* Makes tasks of graph nodes from the structures in which programs describe them, for calls that
 * add or change nodes. All need the lock. */
#ifndef SIM_API_GRAPH_TASKS_H
#define SIM_API_GRAPH_TASKS_H

#include <driver_types.h>

#include "graph/graph.h"

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
