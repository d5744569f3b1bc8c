/* Calls that change the parameters of nodes, in a graph or an executable graph, and whole updates.
 * A change of an executable graph affects later launches but not its graph, and a change of a graph
 * does not affect its executable graphs (documented). */
#include <string.h>

#include "api/graph_arguments.h"
#include "api/launches.h"
#include "graph_change_calls.inc"
#include "check/checker.h"
#include "graph/graph_update.h"
#include "graph/kernel_node.h"
#include "mem/device.h"
#include "os/os.h"
#include "sched/event.h"

/* Replaces a task of this kind by another of the same kind. Reports name this call for it. */
static cudaError_t change(const struct call *call, struct task *t, enum task_kind kind,
                          task_maker *make, const void *parameters, bool in_exec)
{
    if (!parameters || t->kind != kind)
        return cudaErrorInvalidValue;
    struct task changed = *t;
    changed.device = device_current();
    cudaError_t e = make(&changed, parameters);
    if (e)
        return e;
    if (in_exec && !graph_task_may_become(t, &changed))
        return cudaErrorInvalidValue;
    changed.call = call->origin.call;
    changed.site = call->origin.site;
    changed.newest_allocation = checker_newest_allocation();
    *t = changed;
    return cudaSuccess;
}

cudaError_t graph_change(struct call *call, cudaGraphNode_t node, enum task_kind kind,
                         task_maker *make, const void *parameters)
{
    struct node *n = node_of(call, node);
    return n ? change(call, &n->task, kind, make, parameters, false) : cudaErrorInvalidValue;
}

/* Documented: the node must be one of the graph that was instantiated. */
static struct exec_node *exec_node_of(struct call *call, cudaGraphExec_t exec, cudaGraphNode_t node)
{
    struct graph_exec *x = graph_exec_of(call, exec);
    struct node *n = node_of(call, node);
    return x && n ? graph_exec_find(x, n) : NULL;
}

cudaError_t graph_exec_change(struct call *call, cudaGraphExec_t exec, cudaGraphNode_t node,
                              enum task_kind kind, task_maker *make, const void *parameters)
{
    struct exec_node *p = exec_node_of(call, exec, node);
    return p ? change(call, &p->task, kind, make, parameters, true) : cudaErrorInvalidValue;
}

const struct task *graph_task(struct call *call, cudaGraphNode_t node, enum task_kind kind)
{
    struct node *n = node_of(call, node);
    return n && n->task.kind == kind ? &n->task : NULL;
}

/* Measured (probe-more-answers.txt, "graph_nodes"): for a single row the returned pitch is the one
 * that was given. */
cudaError_t do_cudaGraphMemsetNodeGetParams(struct call *call, cudaGraphNode_t node,
                                            struct cudaMemsetParams *p)
{
    const struct task *t = graph_task(call, node, TASK_MEMSET);
    if (!t || !p)
        return cudaErrorInvalidValue;
    *p = (struct cudaMemsetParams){.dst = t->to,
                                   .pitch = t->rows.to_pitch,
                                   .value = (unsigned)t->value,
                                   .elementSize = t->element_bytes,
                                   .width = t->rows.width / t->element_bytes,
                                   .height = t->rows.height};
    return cudaSuccess;
}

/* A copy is described as rows of one slice, however it was given; a GPU's driver returns what it
 * was given (probe-more-answers.txt, "graph_nodes"). */
cudaError_t do_cudaGraphMemcpyNodeGetParams(struct call *call, cudaGraphNode_t node,
                                            struct cudaMemcpy3DParms *p)
{
    const struct task *t = graph_task(call, node, TASK_COPY);
    if (!t || !p)
        return cudaErrorInvalidValue;
    const struct rows *r = &t->rows;
    *p = (struct cudaMemcpy3DParms){
        .srcPtr = {(void *)t->from, r->from_pitch, r->width, r->height},
        .dstPtr = {t->to, r->to_pitch, r->width, r->height},
        .extent = {r->width, r->height, 1},
        .kind = t->direction,
    };
    return cudaSuccess;
}

cudaError_t do_cudaGraphHostNodeGetParams(struct call *call, cudaGraphNode_t node,
                                          struct cudaHostNodeParams *p)
{
    const struct task *t = graph_task(call, node, TASK_HOST);
    if (!t || !p)
        return cudaErrorInvalidValue;
    *p = (struct cudaHostNodeParams){t->function, t->argument};
    return cudaSuccess;
}

static cudaError_t make_event(struct task *t, const void *handle)
{
    t->event = (void *)handle;
    return cudaSuccess;
}

/* Documented: a node keeps its type. */
static cudaError_t set_any(struct call *call, struct task *t, const struct cudaGraphNodeParams *p,
                           bool in_exec)
{
    switch (p->type) {
    /* Measured (probe-graph-nodes.txt, "updates"). */
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree: return cudaErrorNotSupported;
    /* Documented: a conditional node's parameters cannot be set. The error is assumed. */
    case cudaGraphNodeTypeConditional: return cudaErrorNotSupported;
    case cudaGraphNodeTypeMemset:
        return change(call, t, TASK_MEMSET, task_of_memset, &p->memset, in_exec);
    case cudaGraphNodeTypeMemcpy:
        return change(call, t, TASK_COPY, task_of_copy_3d, &p->memcpy.copyParams, in_exec);
    case cudaGraphNodeTypeHost:
        return change(call, t, TASK_HOST, task_of_host_function, &p->host, in_exec);
    case cudaGraphNodeTypeEventRecord:
        call_event(call, p->eventRecord.event);
        return change(call, t, TASK_RECORD, make_event, p->eventRecord.event, in_exec);
    case cudaGraphNodeTypeWaitEvent:
        call_event(call, p->eventWait.event);
        return change(call, t, TASK_WAIT, make_event, p->eventWait.event, in_exec);
    case cudaGraphNodeTypeKernel: return kernel_node_change(call, t, &p->kernel);
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t do_cudaGraphNodeSetParams(struct call *call, cudaGraphNode_t node,
                                      struct cudaGraphNodeParams *p)
{
    struct node *n = node_of(call, node);
    return n && p ? set_any(call, &n->task, p, false) : cudaErrorInvalidValue;
}

cudaError_t do_cudaGraphExecNodeSetParams(struct call *call, cudaGraphExec_t exec,
                                          cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
    struct exec_node *found = exec_node_of(call, exec, node);
    return found && p ? set_any(call, &found->task, p, true) : cudaErrorInvalidValue;
}

cudaError_t do_cudaGraphExecKernelNodeSetParams(struct call *call, cudaGraphExec_t exec,
                                                cudaGraphNode_t node,
                                                const struct cudaKernelNodeParams *p)
{
    struct exec_node *found = exec_node_of(call, exec, node);
    return found && p ? kernel_node_change(call, &found->task, p) : cudaErrorInvalidValue;
}

/* Sets `*k` to the kernel of a node, or returns an error. */
static cudaError_t kernel_of(struct call *call, cudaGraphNode_t node, struct nvcc_kernel **k)
{
    struct node *n = node_of(call, node);
    if (!n || task_type(&n->task) != cudaGraphNodeTypeKernel)
        return cudaErrorInvalidValue;
    *k = n->task.nvcc_kernel;
    return *k ? cudaSuccess : call_not_simulated(call, "attributes of this kernel's node are");
}

/* Returns where a kernel keeps an attribute of its node, and the size, or NULL. */
static void *attribute_of(struct nvcc_kernel *k, cudaLaunchAttributeID attribute, size_t *bytes)
{
#define KEEPS(name, member) \
    case cudaLaunchAttribute##name: *bytes = sizeof(k->member); return &k->member;
    switch (attribute) {
        KEEPS(AccessPolicyWindow, hints.window)
        KEEPS(Cooperative, shape.cooperative)
        KEEPS(Priority, hints.priority)
        KEEPS(MemSyncDomainMap, hints.domains)
        KEEPS(MemSyncDomain, hints.domain)
        KEEPS(PreferredSharedMemoryCarveout, hints.carveout)
    default: return NULL;
    }
#undef KEEPS
}

cudaError_t do_cudaGraphKernelNodeGetAttribute(struct call *call, cudaGraphNode_t node,
                                               cudaLaunchAttributeID attribute,
                                               cudaLaunchAttributeValue *value)
{
    struct nvcc_kernel *k;
    size_t bytes;
    cudaError_t e = kernel_of(call, node, &k);
    if (e)
        return e;
    const void *kept = attribute_of(k, attribute, &bytes);
    if (!kept || !value)
        return cudaErrorInvalidValue;
    memcpy(value, kept, bytes);
    return cudaSuccess;
}

cudaError_t do_cudaGraphKernelNodeSetAttribute(struct call *call, cudaGraphNode_t node,
                                               cudaLaunchAttributeID attribute,
                                               const cudaLaunchAttributeValue *value)
{
    struct nvcc_kernel *k;
    size_t bytes;
    cudaError_t e = kernel_of(call, node, &k);
    if (e)
        return e;
    if (attribute == cudaLaunchAttributeClusterDimension)
        return nvcc_kernel_refuse_launch(k->kernel, IN_CLUSTERS);
    void *kept = attribute_of(k, attribute, &bytes);
    if (!kept || !value || !launch_may_have(attribute, value))
        return cudaErrorInvalidValue;
    const struct launch_shape *s = &k->shape;
    if (attribute == cudaLaunchAttributeCooperative && value->cooperative)
        e = nvcc_kernel_check_cooperative(
            k->kernel, k->code, (dim3){s->grid.x, s->grid.y, s->grid.z},
            (dim3){s->block.x, s->block.y, s->block.z}, s->shared_bytes);
    if (e)
        return e;
    memcpy(kept, value, bytes);
    k->hints.priority = launch_priority(k->hints.priority);
    return cudaSuccess;
}

/* Documented: only kernels, memsets, and copies can be disabled. */
static bool can_be_disabled(const struct task *t)
{
    enum cudaGraphNodeType type = task_type(t);
    return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset
        || type == cudaGraphNodeTypeMemcpy;
}

cudaError_t do_cudaGraphNodeSetEnabled(struct call *call, cudaGraphExec_t exec,
                                       cudaGraphNode_t node, unsigned int enabled)
{
    struct exec_node *p = exec_node_of(call, exec, node);
    if (!p || !can_be_disabled(&p->task))
        return cudaErrorInvalidValue;
    p->is_disabled = !enabled;
    return cudaSuccess;
}

cudaError_t do_cudaGraphNodeGetEnabled(struct call *call, cudaGraphExec_t exec,
                                       cudaGraphNode_t node, unsigned int *enabled)
{
    struct exec_node *p = exec_node_of(call, exec, node);
    if (!p || !enabled || !can_be_disabled(&p->task))
        return cudaErrorInvalidValue;
    *enabled = !p->is_disabled;
    return cudaSuccess;
}

cudaError_t do_cudaGraphExecUpdate(struct call *call, cudaGraphExec_t exec, cudaGraph_t graph,
                                   cudaGraphExecUpdateResultInfo *result)
{
    struct graph_exec *x = graph_exec_of(call, exec);
    struct graph *g = graph_of(call, graph);
    if (!x || !g || !result)
        return cudaErrorInvalidValue;
    cudaError_t e = graph_exec_update(x, g, result);
    x->refused_update = e ? call->origin : (struct origin){0};
    return e;
}

cudaError_t do_cudaGraphExecGetFlags(struct call *call, cudaGraphExec_t exec,
                                     unsigned long long *flags)
{
    struct graph_exec *x = graph_exec_of(call, exec);
    if (!x || !flags)
        return cudaErrorInvalidValue;
    /* Measured (probe-odd-answers.txt, "graphs"): the other flag is not told. */
    *flags = x->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch;
    return cudaSuccess;
}
