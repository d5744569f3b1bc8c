/* Updates of executable graphs. All functions here need the lock. */
#ifndef SIM_GRAPH_GRAPH_UPDATE_H
#define SIM_GRAPH_GRAPH_UPDATE_H

#include "graph/graph_exec.h"

/* Returns whether this task of an executable graph may become `changed`. Documented
 * (cudaGraphExecUpdate and the calls that set one node's parameters): not if the memory would be on
 * another device, or on the host instead of a device. In a memset of rows only the address and
 * value may change. */
bool graph_task_may_become(const struct task *old, const struct task *changed);
/* Gives every node of `x` the task of its partner in `g`. If the graphs differ in form, changes
 * nothing and returns cudaErrorGraphExecUpdateFailure, with the reason in `result` (documented; the
 * results are measured: probe-graph-nodes.txt, "updates"). */
cudaError_t graph_exec_update(struct graph_exec *x, struct graph *g,
                              cudaGraphExecUpdateResultInfo *result);

#endif
