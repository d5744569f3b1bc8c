/* Executable graphs that get other parameters. All of these need the lock. */
#ifndef SIM_GRAPH_GRAPH_UPDATE_H
#define SIM_GRAPH_GRAPH_UPDATE_H

#include "graph/graph_exec.h"

/* May this task of an executable graph become that one? Documented (cudaGraphExecUpdate and the
 * calls that set one node's parameters): not where the memory would be another device's, or the
 * host's instead of a device's; of a memset in rows only the address and the value may change. */
bool graph_task_may_become(const struct task *old, const struct task *changed);
/* Gives every node of `x` the task of its partner in `g`. Returns cudaErrorGraphExecUpdateFailure,
 * and the reason in `result`, when they have not the same form (documented; the results are
 * measured: probe-graph-nodes.txt, "updates"): then nothing has changed. */
cudaError_t graph_exec_update(struct graph_exec *x, struct graph *g,
                              cudaGraphExecUpdateResultInfo *result);

#endif
