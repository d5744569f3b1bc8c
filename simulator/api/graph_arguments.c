/* Handles, lists of nodes, and the tasks that are made of descriptions of nodes. */
#include "api/graph_arguments.h"

#include "api/call.h"
#include "api/copies.h"
#include "graph/dispatch.h"
#include "graph/graph_exec.h"
#include "mem/device.h"
#include "os/os.h"

/* ---- handles ---- */

struct graph *graph_of(struct call *call, cudaGraph_t handle)
{
    struct graph *g = call_object(call, HANDLE_GRAPH, handle);
    if (g)
        line_number(&call->line, "graph", (uint64_t)g->id);
    return g && !g->lost ? g : NULL;
}

struct node *node_of(struct call *call, cudaGraphNode_t handle)
{
    return call_object(call, HANDLE_GRAPH_NODE, handle);
}

struct graph_exec *graph_exec_of(struct call *call, cudaGraphExec_t handle)
{
    struct graph_exec *x = call_object(call, HANDLE_GRAPH_EXEC, handle);
    if (!x)
        return NULL;
    /* Measured (kernels-reset.txt) for a launch and for cudaGraphExecDestroy. */
    if (x->made_by <= device_last_reset(x->device)->call)
        call_ended_by_reset(call, "an executable graph");
    line_number(&call->line, "graph", (uint64_t)x->id);
    return x;
}

static bool has_data(const cudaGraphEdgeData *d) { return d->from_port || d->to_port || d->type; }

/* Checks the last node of a list against the others. */
static cudaError_t check_last(const struct graph *g, struct node *const *list, size_t last,
                              const cudaGraphEdgeData *data)
{
    if (!list[last] || list[last]->graph != g)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < last; i++)
        if (list[i] == list[last])
            return cudaErrorInvalidValue;
    return data && has_data(&data[last]) ? cudaErrorNotSupported : cudaSuccess;
}

cudaError_t graph_nodes_of(struct call *call, const struct graph *g, const cudaGraphNode_t *handles,
                           const cudaGraphEdgeData *data, size_t count, struct node ***nodes)
{
    *nodes = NULL;
    if (count && !handles)
        return cudaErrorInvalidValue;
    struct node **list = os_allocate(count * sizeof(struct node *));
    for (size_t i = 0; i < count; i++) {
        list[i] = node_of(call, handles[i]);
        cudaError_t e = check_last(g, list, i, data);
        if (e) {
            os_free(list);
            return e;
        }
    }
    *nodes = list;
    return cudaSuccess;
}

/* ---- tasks of nodes ---- */

cudaError_t task_of_memset(struct task *t, const void *parameters)
{
    const struct cudaMemsetParams *p = parameters;
    return dispatch_memset_task(t, p->dst, p->pitch, p->value, p->elementSize, p->width, p->height);
}

cudaError_t task_of_copy(struct task *t, const void *parameters)
{
    const struct copy_1d *p = parameters;
    t->kind = TASK_COPY;
    t->to = p->to;
    t->from = p->from;
    t->rows = rows_of(p->bytes);
    t->direction = p->kind;
    return p->bytes ? dispatch_check_copy(t) : cudaErrorInvalidValue;
}

cudaError_t task_of_copy_3d(struct task *t, const void *parameters)
{
    const struct cudaMemcpy3DParms *p = parameters;
    struct slices x;
    if (p->srcArray || p->dstArray) {
        diag("a memcpy node: arrays are not simulated there: the call returns "
             "cudaErrorNotSupported. A captured copy of an array works.");
        return cudaErrorNotSupported;
    }
    /* Measured (probe-more-answers.txt, "graph_nodes"): rows that overlap are rejected. */
    cudaError_t e = copy_slices(p, &x);
    if (e || !x.count)
        return e ? e : cudaErrorInvalidValue;
    if (x.count > 1) {
        diag("a memcpy node: slices with rows between them are not simulated: the call "
             "returns cudaErrorNotSupported.");
        return cudaErrorNotSupported;
    }
    t->kind = TASK_COPY;
    t->to = x.to;
    t->from = x.from;
    t->rows = x.rows;
    t->direction = p->kind;
    return dispatch_check_copy(t);
}

cudaError_t task_of_host_function(struct task *t, const void *parameters)
{
    const struct cudaHostNodeParams *p = parameters;
    t->kind = TASK_HOST;
    t->function = p->fn;
    t->argument = p->userData;
    return p->fn ? cudaSuccess : cudaErrorInvalidValue;
}

/* A cudaGraphNodeParams has structures of its own for these, so a task_maker may get either. */
#define BEGINS_WITH(node, own, last)                                          \
    _Static_assert(offsetof(struct node, last) == offsetof(struct own, last), \
                   #node " begins with the members of " #own)
BEGINS_WITH(cudaMemsetParamsV2, cudaMemsetParams, height);
BEGINS_WITH(cudaHostNodeParamsV2, cudaHostNodeParams, userData);
BEGINS_WITH(cudaMemAllocNodeParamsV2, cudaMemAllocNodeParams, dptr);
BEGINS_WITH(cudaKernelNodeParamsV2, cudaKernelNodeParams, extra);
