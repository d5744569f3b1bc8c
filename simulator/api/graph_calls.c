/* Calls that build graphs by hand and look at them. */
#include "graph/graph.h"

#include "api/graph_arguments.h"
#include "graph_calls.inc"
#include "base/hazards.h"
#include "check/checker.h"
#include "graph/graph_memory.h"
#include "graph/kernel_node.h"
#include "mem/device.h"
#include "os/os.h"

/* ---- graphs ---- */

cudaError_t do_cudaGraphCreate(struct call *call, cudaGraph_t *graph, unsigned int flags)
{
    if (!graph || flags)
        return cudaErrorInvalidValue;
    struct graph *g = graph_new();
    line_number(&call->line, "graph", (uint64_t)g->id);
    *graph = g->handle;
    return cudaSuccess;
}

/* Documented, and measured (probe-graphs.txt): a graph with memory nodes cannot be cloned.
 * Documented, and measured (kernels-conditional.txt): neither can one with conditional nodes. */
cudaError_t do_cudaGraphClone(struct call *call, cudaGraph_t *clone, cudaGraph_t graph)
{
    struct graph *g = graph_of(call, graph);
    if (!g || !clone)
        return cudaErrorInvalidValue;
    if (g->has_memory_nodes || graph_has_conditionals(g))
        return cudaErrorNotSupported;
    *clone = graph_clone(g)->handle;
    return cudaSuccess;
}

cudaError_t do_cudaGraphDestroy(struct call *call, cudaGraph_t graph)
{
    struct graph *g = graph_of(call, graph);
    /* Measured: not if a child node owns it (probe-graph-nodes.txt, "children"), nor while a
     * capture adds to it (documented, and probe-odd-captures.txt, "graphs"). */
    if (!g || g->parent)
        return cudaErrorInvalidValue;
    if (g->capturing)
        return cudaErrorIllegalState;
    graph_destroy(g);
    return cudaSuccess;
}

/* ---- adding nodes ---- */

/* A node that a call is adding. */
struct new_node {
    struct graph *g;
    struct node **dependencies;
    size_t count;
    struct task task;
};

/* Begins every call that adds a node. After an error there is nothing to end. */
static cudaError_t begin_add_node(struct call *call, struct new_node *a,
                                  const cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *dependencies, size_t count)
{
    *a = (struct new_node){
        .g = graph_of(call, graph),
        .count = count,
        .task = {.kind = TASK_EMPTY, .device = device_current()},
    };
    if (!node || !a->g)
        return cudaErrorInvalidValue;
    return graph_nodes_of(call, a->g, dependencies, NULL, count, &a->dependencies);
}

/* Adds the node unless its task has an error, and returns that error. */
static cudaError_t end_add_node(struct call *call, struct new_node *a, cudaError_t e,
                                cudaGraphNode_t *node)
{
    struct task *t = &a->task;
    if (!e) {
        /* Reports name the kernel. */
        if (t->nvcc_kernel)
            call->origin.call = t->nvcc_kernel->kernel->name;
        if (t->user_kernel)
            call->origin.call = t->user_kernel->name;
        t->call = call->origin.call;
        t->site = call->origin.site;
        t->newest_allocation = checker_newest_allocation();
        struct node *n = graph_add_node(a->g, t, a->dependencies, a->count);
        if (t->allocation)
            graph_allocation_add_node(n);
        line_number(&call->line, "node", n->id);
        *node = n->handle;
    }
    /* The node has a copy. */
    task_release(t);
    os_free(a->dependencies);
    return e;
}

cudaError_t graph_add(struct call *call, cudaGraphNode_t *node, cudaGraph_t graph,
                      const cudaGraphNode_t *dependencies, size_t count, task_maker *make,
                      const void *parameters)
{
    struct new_node a;
    cudaError_t e = begin_add_node(call, &a, node, graph, dependencies, count);
    if (e)
        return e;
    e = parameters ? make(&a.task, parameters) : cudaErrorInvalidValue;
    return end_add_node(call, &a, e, node);
}

/* Checks where a node allocates. It is on a device, and managed memory is then the device's own.
 * Shareable allocations and other locations are rejected, in one of two ways (measured:
 * probe-graphs.txt, "graph_codes"; probe-graph-nodes.txt, "managed"). */
static cudaError_t check_alloc_location(const struct cudaMemPoolProps *props)
{
    bool managed = props->allocType == cudaMemAllocationTypeManaged;
    if (!managed && props->allocType != cudaMemAllocationTypePinned)
        return cudaErrorInvalidValue;
    switch (props->location.type) {
    case cudaMemLocationTypeDevice:
        return !device_exists(props->location.id) ? cudaErrorInvalidValue
             : props->handleTypes                 ? cudaErrorNotSupported
                                                  : cudaSuccess;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma: return cudaErrorNotSupported;
    default: return managed ? cudaErrorNotSupported : cudaErrorInvalidValue;
    }
}

/* Makes the task of an allocation node. Sets p->dptr to what it will allocate. */
static cudaError_t allocation_task(struct new_node *a, struct cudaMemAllocNodeParams *p)
{
    struct task *t = &a->task;
    const struct cudaMemAccessDesc *list = p->accessDescs;
    uint32_t peer_rights = 0;
    if (p->accessDescCount && !list)
        return cudaErrorInvalidValue;
    /* Measured (probe-graph-nodes.txt, "children"). */
    if (a->g->parent && !a->g->is_body)
        return cudaErrorNotSupported;
    cudaError_t e = check_alloc_location(&p->poolProps);
    if (e || !p->bytesize)
        return e ? e : cudaErrorInvalidValue;
    for (size_t i = 0; i < p->accessDescCount; i++) {
        if (list[i].location.type != cudaMemLocationTypeDevice)
            return cudaErrorInvalidValue;
        if (!device_exists(list[i].location.id))
            return cudaErrorInvalidDevice;
        peer_rights |= 1u << list[i].location.id;
    }
    /* Measured (probe-odd-peers.txt, "lists"): unknown flags come before those not supported. */
    for (size_t i = 0; i < p->accessDescCount; i++)
        if (list[i].flags == cudaMemAccessFlagsProtNone
            || list[i].flags == cudaMemAccessFlagsProtRead)
            e = cudaErrorNotSupported;
        else if (list[i].flags != cudaMemAccessFlagsProtReadWrite)
            return cudaErrorInvalidValue;
    if (e)
        return e;
    t->allocation = graph_allocation_new(a->g, p->poolProps.location.id, p->bytesize, peer_rights,
                                         a->dependencies, a->count);
    if (!t->allocation)
        return cudaErrorMemoryAllocation;
    t->kind = TASK_ALLOCATE;
    p->dptr = graph_allocation_address(t->allocation);
    return cudaSuccess;
}

static cudaError_t free_task(struct new_node *a, const void *address)
{
    /* Assumed: an allocation node's error. */
    if (a->g->parent && !a->g->is_body)
        return cudaErrorNotSupported;
    a->task.kind = TASK_FREE;
    a->task.allocation = graph_allocation_to_free(a->g, address);
    /* Documented: the error for memory that is freed twice or that no allocation node returned. */
    return a->task.allocation ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t do_sim_graph_add_kernel_node(struct call *call, cudaGraphNode_t *node,
                                         cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                         size_t dependency_count, const char *name,
                                         sim_function function, const void *argument,
                                         size_t argument_bytes, const struct sim_range *ranges,
                                         size_t count, unsigned long long nanoseconds)
{
    struct new_node a;
    cudaError_t e = begin_add_node(call, &a, node, graph, dependencies, dependency_count);
    if (e)
        return e;
    struct user_kernel *k =
        user_kernel_new(name, function, argument, argument_bytes, ranges, count, nanoseconds);
    if (k) {
        line_text(&call->line, "kernel", k->name);
        a.task.kind = TASK_USER_KERNEL;
        a.task.user_kernel = k;
    }
    return end_add_node(call, &a, k ? cudaSuccess : cudaErrorInvalidValue, node);
}

cudaError_t do_cudaGraphAddMemAllocNode(struct call *call, cudaGraphNode_t *node, cudaGraph_t graph,
                                        const cudaGraphNode_t *dependencies, size_t count,
                                        struct cudaMemAllocNodeParams *p)
{
    struct new_node a;
    cudaError_t e = begin_add_node(call, &a, node, graph, dependencies, count);
    if (e)
        return e;
    return end_add_node(call, &a, p ? allocation_task(&a, p) : cudaErrorInvalidValue, node);
}

/* ---- child graphs ---- */

/* Measured (probe-graph-nodes.txt, "children"): a graph with memory nodes cannot be copied. It can
 * be moved into a parent, once, while it has no executable graph. Assumed: any other graph can be
 * moved too, but not into itself. Measured (probe-odd-answers.txt, "itself"): a copy of it there
 * ends the program. Documented, and measured (kernels-conditional.txt): one with
 * conditional nodes can be neither. */
static cudaError_t check_child(const struct call *call, const struct graph *parent,
                               const struct graph *child, bool moves)
{
    if (!child || child->lost || (moves && child->capturing))
        return cudaErrorInvalidValue;
    if (graph_has_conditionals(child))
        return cudaErrorNotSupported;
    if (child->has_memory_nodes && (!moves || child->instantiated))
        return cudaErrorNotSupported;
    for (const struct graph *g = parent; moves && g; g = g->parent)
        if (g == child)
            return cudaErrorInvalidValue;
    if (parent == child)
        call_stop(call, HAZARD_BAD_HANDLE,
                  "the graph is added to itself. A real driver dies of SIGSEGV here.\n"
                  "  To do:     add a copy of it, which cudaGraphClone makes.");
    return moves && child->parent ? cudaErrorInvalidValue : cudaSuccess;
}

static cudaError_t end_add_child(struct call *call, struct new_node *a, struct graph *child,
                                 bool moves, cudaGraphNode_t *node)
{
    cudaError_t e = check_child(call, a->g, child, moves);
    struct graph *own = e || moves ? child : graph_clone(child);
    a->task.kind = TASK_CHILD;
    e = end_add_node(call, a, e, node);
    if (!e)
        graph_set_child(node_of(call, *node), own);
    return e;
}

/* ---- conditional nodes ---- */

/* Documented: the flags, and invalid values. */
cudaError_t do_cudaGraphConditionalHandleCreate(struct call *call,
                                                cudaGraphConditionalHandle *handle,
                                                cudaGraph_t graph, unsigned int value,
                                                unsigned int flags)
{
    struct graph *g = graph_of(call, graph);
    if (!handle || !g || flags & ~(unsigned)cudaGraphCondAssignDefault)
        return cudaErrorInvalidValue;
    struct condition *c = graph_new_condition(g, device_current());
    c->has_default = flags & cudaGraphCondAssignDefault;
    c->default_value = value;
    checker_allocated(call, condition_shadow(c), ALLOCATION_AT_CALL, NULL, 0);
    *handle = (cudaGraphConditionalHandle)(uintptr_t)c->handle;
    return cudaSuccess;
}

/* Is the condition one of this graph, or of one around it (documented)? */
static bool has_condition(const struct graph *g, const struct condition *c)
{
    for (; g; g = g->parent)
        for (const struct condition *own = g->conditions; own; own = own->next)
            if (own == c)
                return true;
    return false;
}

/* Is the graph in a child node, which may not contain conditional nodes (documented)? */
static bool is_in_child(const struct graph *g)
{
    for (; g->parent; g = g->parent)
        if (!g->is_body)
            return true;
    return false;
}

/* Documented: the sizes. Measured (kernels-conditional.txt): a handle is of one node, and the
 * codes. A driver counts handles in each graph, and so takes another graph's handle for its own of
 * that number; here it is refused. Assumed: that the device that is current is the handle's, and a
 * limit for the size of a SWITCH node, with which a driver tried to make 4,294,967,295 bodies. */
static cudaError_t check_conditional(const struct graph *g, const struct condition *c,
                                     const struct cudaConditionalNodeParams *p)
{
    unsigned most = p->type == cudaGraphCondTypeIf     ? 2
                  : p->type == cudaGraphCondTypeWhile  ? 1
                  : p->type == cudaGraphCondTypeSwitch ? 1u << 20
                                                       : 0;
    if (!c || c->in_node || !has_condition(g, c) || c->device != device_current() || !p->size
        || p->size > most)
        return cudaErrorInvalidValue;
    return is_in_child(g) ? cudaErrorNotSupported : cudaSuccess;
}

static cudaError_t end_add_conditional(struct call *call, struct new_node *a,
                                       struct cudaConditionalNodeParams *p, cudaGraphNode_t *node)
{
    struct condition *c = handle_object(HANDLE_CONDITION, (const void *)(uintptr_t)p->handle);
    a->task.kind = TASK_CONDITIONAL;
    cudaError_t e = end_add_node(call, a, check_conditional(a->g, c, p), node);
    if (e)
        return e;
    struct node *n = node_of(call, *node);
    graph_set_conditional(n, c, p->type, p->size);
    p->phGraph_out = n->task.conditional->handles;
    return cudaSuccess;
}

/* ---- a node of any type ---- */

static cudaError_t any_task(struct call *call, struct new_node *a, struct cudaGraphNodeParams *p)
{
    bool records = p->type == cudaGraphNodeTypeEventRecord;
    switch (p->type) {
    case cudaGraphNodeTypeEmpty: return cudaSuccess;
    case cudaGraphNodeTypeKernel: return kernel_node_task(&a->task, &p->kernel);
    case cudaGraphNodeTypeMemset: return task_of_memset(&a->task, &p->memset);
    case cudaGraphNodeTypeMemcpy: return task_of_copy_3d(&a->task, &p->memcpy.copyParams);
    case cudaGraphNodeTypeHost: return task_of_host_function(&a->task, &p->host);
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeWaitEvent:
        /* Measured (probe-more-answers.txt, "graph_nodes"): a null event is rejected. */
        a->task.kind = records ? TASK_RECORD : TASK_WAIT;
        a->task.event = records ? p->eventRecord.event : p->eventWait.event;
        return call_event(call, a->task.event) ? cudaSuccess : cudaErrorInvalidValue;
    case cudaGraphNodeTypeMemAlloc:
        return allocation_task(a, (struct cudaMemAllocNodeParams *)&p->alloc);
    case cudaGraphNodeTypeMemFree: return free_task(a, p->free.dptr);
    default:
        diag("cudaGraphAddNode: a node of this type (%d) is not simulated: the call returns "
             "cudaErrorNotSupported.",
             (int)p->type);
        hazards_gave_up("a node of a graph was refused");
        return cudaErrorNotSupported;
    }
}

/* Documented: reserved bytes must be 0. */
static bool has_reserved_bytes(const struct cudaGraphNodeParams *p)
{
    return p->reserved0[0] || p->reserved0[1] || p->reserved0[2] || p->reserved2;
}

/* The signature of CUDA 13.0 to 13.5. Their header announces that this call will replace those that
 * add nodes which allocate and free. */
cudaError_t do_cudaGraphAddNode(struct call *call, cudaGraphNode_t *node, cudaGraph_t graph,
                                const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
                                size_t count, struct cudaGraphNodeParams *p)
{
    struct new_node a = {.g = graph_of(call, graph), .count = count};
    if (!node || !a.g || !p || has_reserved_bytes(p))
        return cudaErrorInvalidValue;
    a.task = (struct task){.kind = TASK_EMPTY, .device = device_current()};
    cudaError_t e = graph_nodes_of(call, a.g, dependencies, data, count, &a.dependencies);
    if (e)
        return e;
    if (p->type == cudaGraphNodeTypeGraph)
        return end_add_child(call, &a, call_object(call, HANDLE_GRAPH, p->graph.graph),
                             p->graph.ownership == cudaGraphChildGraphOwnershipMove, node);
    if (p->type == cudaGraphNodeTypeConditional)
        return end_add_conditional(call, &a, &p->conditional, node);
    return end_add_node(call, &a, any_task(call, &a, p), node);
}

/* ---- edges ---- */

static cudaError_t add_edge(struct call *call, const struct graph *g, const cudaGraphNode_t *from,
                            const cudaGraphNode_t *to, const cudaGraphEdgeData *data)
{
    struct node **from_node, **to_node;
    cudaError_t e = graph_nodes_of(call, g, from, data, 1, &from_node);
    if (e)
        return e;
    e = graph_nodes_of(call, g, to, NULL, 1, &to_node);
    /* Documented: an edge that already exists is an error. */
    if (!e && (from_node[0] == to_node[0] || !graph_add_edge(from_node[0], to_node[0])))
        e = cudaErrorInvalidValue;
    os_free(from_node);
    os_free(to_node);
    return e;
}

cudaError_t do_cudaGraphAddDependencies(struct call *call, cudaGraph_t graph,
                                        const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *data, size_t count)
{
    struct graph *g = graph_of(call, graph);
    if (!g || (count && (!from || !to)))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        cudaError_t e = add_edge(call, g, &from[i], &to[i], data ? &data[i] : NULL);
        if (e)
            return e;
    }
    return cudaSuccess;
}

/* ---- queries ---- */

cudaError_t do_cudaGraphMemAllocNodeGetParams(struct call *call, cudaGraphNode_t node,
                                              struct cudaMemAllocNodeParams *p)
{
    struct node *n = node_of(call, node);
    if (!n || !p || n->task.kind != TASK_ALLOCATE)
        return cudaErrorInvalidValue;
    graph_allocation_params(n->task.allocation, p);
    return cudaSuccess;
}
