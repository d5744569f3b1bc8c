/* Kernel nodes that a program puts in by hand: what cudaKernelNodeParams means for the kernels of
 * lessons/kernels.h.
 *
 * All of these need the lock, but for kernel_function. */
#ifndef SIM_GRAPH_KERNEL_NODE_H
#define SIM_GRAPH_KERNEL_NODE_H

#include "graph/graph.h"

/* The value that stands for the kernel of this kind of task in cudaKernelNodeParams.func. */
void *kernel_function(enum task_kind kind);
/* Makes the task of a node from its parameters, of which it keeps the arguments' values. Returns an
 * error when they are refused. */
cudaError_t kernel_node_task(struct task *t, const struct cudaKernelNodeParams *p);
/* Sets `p` to the parameters of a node. What they point to is the node's, until it is asked again,
 * changed or destroyed (documented). */
cudaError_t kernel_node_params(struct node *n, struct cudaKernelNodeParams *p);
/* Gives the task of a kernel node, or of an executable graph's, other parameters: those of
 * `call`. */
cudaError_t kernel_node_change(const struct call *call, struct task *t,
                               const struct cudaKernelNodeParams *p);

#endif
