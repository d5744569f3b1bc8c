/* The API's skin: changes to graphs and to executable graphs. */
#include "api/export.h"

#include "api/call.h"
#include "check/checker.h"
#include "sched/cost.h"
#include "graph/graph_handle.h"
#include "os/os.h"
#include "graph/graph_exec.h"
#include "run/dispatch.h"

/* ---- what is taken out ---- */

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *data, size_t count)
{
    cudaError_t e = CALL("cudaGraphRemoveDependencies", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!g || (count && (!from || !to)))) e = cudaErrorInvalidValue;
    if (!e && g->has_memory_nodes) e = cudaErrorNotSupported;        /* documented; the code is measured */
    for (size_t i = 0; i < count && !e; i++) {
        struct node **one = NULL, **other = NULL;
        e = graph_nodes_of(g, &from[i], data ? &data[i] : NULL, 1, &one);
        if (!e) e = graph_nodes_of(g, &to[i], NULL, 1, &other);
        if (!e && !graph_remove_edge(one[0], other[0])) e = cudaErrorInvalidValue;
        host_free(one);
        host_free(other);
    }
    return call_end(e);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    cudaError_t e = CALL("cudaGraphDestroyNode", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || n->graph->capturing)) e = cudaErrorInvalidValue;          /* chosen: not while a capture adds to the graph */
    if (!e && n->graph->has_memory_nodes) e = cudaErrorNotSupported; /* documented; the code is measured */
    if (!e) graph_remove(n);
    return call_end(e);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count, cudaGraph_t child)
{
    cudaError_t e = CALL("cudaGraphAddChildGraphNode", COST_SMALL);
    (void)dependencies;
    (void)count;
    if (!e && (!node || !graph_of(graph))) e = cudaErrorInvalidValue;
    if (!e) e = graph_child_error("cudaGraphAddChildGraphNode", child, false);
    return call_end(e);
}

/* ---- what nodes do ---- */

static cudaError_t change_memset(struct task *old, const struct cudaMemsetParams *p)
{
    if (old->kind != TASK_MEMSET) return cudaErrorInvalidValue;
    struct task t = { .device = old->device };
    cudaError_t e = submit_memset_task(&t, p->dst, p->pitch, p->value, p->elementSize, p->width, p->height);
    if (e) return e;
    t.call = old->call;
    t.site = old->site;
    t.newest = checker_newest_block();
    *old = t;
    return cudaSuccess;
}

/* A node that is given new parameters of any type. */
static cudaError_t change(const char *name, struct task *old, const struct cudaGraphNodeParams *p)
{
    if (task_type(old) != p->type) return cudaErrorInvalidValue;
    if (old->block) return cudaErrorNotSupported;            /* measured */
    if (old->kind == TASK_MEMSET) {
        struct cudaMemsetParams m = { .dst = p->memset.dst, .pitch = p->memset.pitch, .value = p->memset.value, .elementSize = p->memset.elementSize, .width = p->memset.width, .height = p->memset.height };
        return change_memset(old, &m);
    }
    host_say("%s: only memset nodes can be changed on the simulated device: it returns cudaErrorNotSupported.", name);
    return cudaErrorNotSupported;
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *p)
{
    cudaError_t e = CALL("cudaGraphMemsetNodeGetParams", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || !p || n->task.kind != TASK_MEMSET)) e = cudaErrorInvalidValue;
    if (!e) *p = (struct cudaMemsetParams){ .dst = n->task.to, .value = (unsigned)n->task.value, .elementSize = n->task.element, .width = n->task.count, .height = 1 };
    return call_end(e);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *p)
{
    cudaError_t e = CALL("cudaGraphMemsetNodeSetParams", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e) e = n && p ? change_memset(&n->task, p) : cudaErrorInvalidValue;
    return call_end(e);
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
    cudaError_t e = CALL("cudaGraphNodeSetParams", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e) e = n && p ? change("cudaGraphNodeSetParams", &n->task, p) : cudaErrorInvalidValue;
    return call_end(e);
}

/* ---- what nodes of executable graphs do ---- */

/* The plan of a node; NULL: the executable graph was not made from its graph. */
static struct plan *plan_of(cudaGraphExec_t exec, cudaGraphNode_t node)
{
    struct exec *x = exec_of(exec);
    struct node *n = node_of(node);
    return x && n ? exec_find(x, n) : NULL;
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *p)
{
    cudaError_t e = CALL("cudaGraphExecMemsetNodeSetParams", COST_SMALL);
    struct plan *plan = e ? NULL : plan_of(exec, node);
    if (!e) e = plan && p ? change_memset(&plan->task, p) : cudaErrorInvalidValue;
    return call_end(e);
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
    cudaError_t e = CALL("cudaGraphExecNodeSetParams", COST_SMALL);
    struct plan *plan = e ? NULL : plan_of(exec, node);
    if (!e) e = plan && p ? change("cudaGraphExecNodeSetParams", &plan->task, p) : cudaErrorInvalidValue;
    return call_end(e);
}

/* Documented: kernels, memsets and copies can be left out; what other nodes answer is measured for those with memory. */
static bool can_be_left_out(const struct plan *p)
{
    enum cudaGraphNodeType type = task_type(&p->task);
    return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset || type == cudaGraphNodeTypeMemcpy;
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled)
{
    cudaError_t e = CALL("cudaGraphNodeSetEnabled", COST_SMALL);
    struct plan *plan = e ? NULL : plan_of(exec, node);
    if (!e && (!plan || !can_be_left_out(plan))) e = cudaErrorInvalidValue;
    if (!e) plan->is_enabled = enabled;
    return call_end(e);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled)
{
    cudaError_t e = CALL("cudaGraphNodeGetEnabled", COST_SMALL);
    struct plan *plan = e ? NULL : plan_of(exec, node);
    if (!e && (!plan || !enabled || !can_be_left_out(plan))) e = cudaErrorInvalidValue;
    if (!e) *enabled = plan->is_enabled;
    return call_end(e);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    cudaError_t e = CALL("cudaGraphExecUpdate", COST_SMALL);
    struct exec *x = e ? NULL : exec_of(exec);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!x || !g || !info)) e = cudaErrorInvalidValue;
    if (!e) {
        struct node *reason;
        enum cudaGraphExecUpdateResult result = exec_update(x, g, &reason);
        *info = (cudaGraphExecUpdateResultInfo){ .result = result, .errorNode = reason ? reason->handle : NULL };
        if (result) e = cudaErrorGraphExecUpdateFailure;
    }
    return call_end(e);
}
