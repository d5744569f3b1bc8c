/* Kernel nodes that a program adds by hand: what cudaKernelNodeParams means for the kernels of
 * lessons/kernels.h. All functions here need the lock, except kernel_function. */
#ifndef SIM_GRAPH_KERNEL_NODE_H
#define SIM_GRAPH_KERNEL_NODE_H

#include "graph/graph.h"

/* Returns the value of cudaKernelNodeParams.func for the kernel of this kind of task. */
void *kernel_function(enum task_kind kind);
/* Makes the task of a node from its parameters, a struct cudaKernelNodeParams, with copies of the
 * arguments' values. Returns an error for invalid parameters. */
cudaError_t kernel_node_task(struct task *t, const void *parameters);
/* Sets `p` to the parameters of a node. What they point to belongs to the node and is valid until
 * the next query, change, or destruction (documented). */
cudaError_t kernel_node_params(struct node *n, struct cudaKernelNodeParams *p);
/* Gives the task of a kernel node, in a graph or executable graph, the parameters of `call`, as
 * those of kernel_node_task. */
cudaError_t kernel_node_change(const struct call *call, struct task *t, const void *parameters);

#endif
