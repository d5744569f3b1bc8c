/* Changes to executable graphs: what single nodes do, or all of them. Documented: the header, cudaGraphExecUpdate; which answers, measured: tests/facts/probe-graph-nodes.txt, "updates". */
#include "os/os.h"
#include "graph/graph_exec.h"

struct plan *exec_find(struct exec *x, const struct node *n)
{
    for (size_t i = 0; i < x->count; i++)
        if (x->plans[i].node == n->handle) return &x->plans[i];
    return NULL;
}

static bool has_same_edges(const struct plan *p, const struct node *n)
{
    if (p->edge_count != n->before_count) return false;
    for (size_t k = 0; k < p->edge_count; k++)
        if (p->edges[k] != n->before[k]->position) return false;
    return true;
}

/* May the plan do what the node does? */
static enum cudaGraphExecUpdateResult compare(const struct plan *p, const struct node *n)
{
    if (task_type(&p->task) != task_type(&n->task)) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (p->task.block != n->task.block) return cudaGraphExecUpdateError;                /* memory stays where it is */
    if (n->task.kind == TASK_MEMSET && !exec_takes_memset(&n->task)) return cudaGraphExecUpdateErrorParametersChanged;
    return p->task.device == n->task.device ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorParametersChanged;
}

enum cudaGraphExecUpdateResult exec_update(struct exec *x, struct graph *g, struct node **reason)
{
    struct node **order = host_allocate(g->count * sizeof(struct node *));
    enum cudaGraphExecUpdateResult result = g->count == x->count && graph_order(g, order) ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    *reason = NULL;
    for (size_t i = 0; i < x->count && !result; i++) {
        result = has_same_edges(&x->plans[i], order[i]) ? compare(&x->plans[i], order[i]) : cudaGraphExecUpdateErrorTopologyChanged;
        if (result) *reason = order[i];
    }
    for (size_t i = 0; i < x->count && !result; i++) x->plans[i].task = order[i]->task;
    host_free(order);
    return result;
}
