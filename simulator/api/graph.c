/* The API's skin: building graphs by hand, and looking at them. */
#include "api/export.h"

#include "api/call.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "graph/graph_handle.h"
#include "graph/graph_memory.h"
#include "os/os.h"
#include "base/journal.h"
#include "run/dispatch.h"

/* ---- graphs ---- */

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    cudaError_t e = CALL("cudaGraphCreate", COST_SMALL);
    if (!e && (!graph || flags))
        e = cudaErrorInvalidValue;
    if (!e) {
        struct graph *g = graph_new();
        journal_number("graph", (uint64_t)g->id);
        *graph = g->handle;
    }
    return call_end(e);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t e = CALL("cudaGraphDestroy", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    /* Documented: not while a capture adds to it. */
    if (!e && (!g || g->capturing))
        e = cudaErrorInvalidValue;
    if (!e)
        graph_destroy(g);
    return call_end(e);
}

/* ---- adding nodes ---- */

/* What every function that adds a node begins with. */
struct new_node {
    struct graph *g;
    struct node **dependencies;
    size_t count;
};

static cudaError_t begin_add_node(const char *name, struct new_node *a, cudaGraphNode_t *node,
                                  cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  size_t count)
{
    cudaError_t e = call_begin(name, COST_SMALL);
    *a = (struct new_node){.g = e ? NULL : graph_of(graph), .count = count};
    if (!e && (!node || !a->g))
        e = cudaErrorInvalidValue;
    return e ? e : graph_nodes_of(a->g, dependencies, NULL, count, &a->dependencies);
}

static cudaError_t end_add_node(cudaError_t e, struct new_node *a, cudaGraphNode_t *node,
                                struct task *t)
{
    if (!e) {
        struct origin origin = checker_current_origin();
        t->call = origin.call;
        t->site = origin.site;
        t->newest_allocation = checker_newest_allocation();
        t->device = device_current();
        struct node *n = graph_add_node(a->g, t, a->dependencies, a->count);
        if (t->allocation)
            graph_allocation_add_node(n);
        journal_number("node", n->id);
        *node = n->handle;
    }
    os_free(a->dependencies);
    return call_end(e);
}

#define ADD_NODE_PARAMS \
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count
#define ADD_NODE_BEGIN(name)                                          \
    struct new_node a;                                                \
    struct task t = {.kind = TASK_EMPTY, .device = device_current()}; \
    cudaError_t e = AT(begin_add_node(name, &a, node, graph, dependencies, count))

/* Where nodes allocate. measured (probe-graphs.txt, "graph_codes"; probe-graph-nodes.txt,
 * "managed"): on a device, and what is called managed is the device's own memory then; nothing that
 * could be shared; elsewhere, refused in one of two ways. */
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

/* One allocation node. `address` gets what it will allocate. */
static cudaError_t allocation_task(struct task *t, const struct new_node *a,
                                   const struct cudaMemPoolProps *props,
                                   const struct cudaMemAccessDesc *list, size_t count, size_t bytes,
                                   void **address)
{
    uint32_t peer_rights = 0;
    if (!bytes || (count && !list))
        return cudaErrorInvalidValue;
    cudaError_t e = check_alloc_location(props);
    if (e)
        return e;
    for (size_t i = 0; i < count; i++) {
        if (list[i].location.type != cudaMemLocationTypeDevice
            || !device_exists(list[i].location.id))
            return cudaErrorInvalidValue;
        if (list[i].flags != cudaMemAccessFlagsProtReadWrite)
            return cudaErrorInvalidValue;
        peer_rights |= 1u << list[i].location.id;
    }
    t->allocation = graph_allocation_new(a->g, props->location.id, bytes, peer_rights,
                                         a->dependencies, a->count);
    if (!t->allocation)
        return cudaErrorMemoryAllocation;
    t->kind = TASK_ALLOCATE;
    *address = graph_allocation_address(t->allocation);
    return cudaSuccess;
}

static cudaError_t free_task(struct task *t, const struct new_node *a, const void *address)
{
    t->kind = TASK_FREE;
    t->allocation = graph_allocation_to_free(a->g, address);
    /* Documented: freed twice, or not what an allocation node returned. */
    return t->allocation ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphAddEmptyNode(ADD_NODE_PARAMS)
{
    ADD_NODE_BEGIN("cudaGraphAddEmptyNode");
    return end_add_node(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemsetNode(ADD_NODE_PARAMS, const struct cudaMemsetParams *p)
{
    ADD_NODE_BEGIN("cudaGraphAddMemsetNode");
    if (!e)
        e = p ? dispatch_memset_task(&t, p->dst, p->pitch, p->value, p->elementSize, p->width,
                                     p->height)
              : cudaErrorInvalidValue;
    return end_add_node(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemcpyNode1D(ADD_NODE_PARAMS, void *to, const void *from, size_t bytes,
                                     enum cudaMemcpyKind kind)
{
    ADD_NODE_BEGIN("cudaGraphAddMemcpyNode1D");
    if (!e) {
        t = (struct task){.kind = TASK_COPY,
                          .device = t.device,
                          .to = to,
                          .from = from,
                          .count = bytes,
                          .direction = kind};
        e = bytes ? dispatch_check_copy(&t) : cudaErrorInvalidValue;
    }
    return end_add_node(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemAllocNode(ADD_NODE_PARAMS, struct cudaMemAllocNodeParams *p)
{
    ADD_NODE_BEGIN("cudaGraphAddMemAllocNode");
    if (!e)
        e = p ? allocation_task(&t, &a, &p->poolProps, p->accessDescs, p->accessDescCount,
                                p->bytesize, &p->dptr)
              : cudaErrorInvalidValue;
    return end_add_node(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemFreeNode(ADD_NODE_PARAMS, void *address)
{
    ADD_NODE_BEGIN("cudaGraphAddMemFreeNode");
    if (!e)
        e = free_task(&t, &a, address);
    return end_add_node(e, &a, node, &t);
}

/* ---- edges ---- */

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                     size_t count)
{
    cudaError_t e = CALL("cudaGraphAddDependencies", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!g || (count && (!from || !to))))
        e = cudaErrorInvalidValue;
    for (size_t i = 0; i < count && !e; i++) {
        struct node **from_node = NULL, **to_node = NULL;
        e = graph_nodes_of(g, &from[i], data ? &data[i] : NULL, 1, &from_node);
        if (!e)
            e = graph_nodes_of(g, &to[i], NULL, 1, &to_node);
        /* Documented: an edge that is there already. */
        if (!e && (from_node[0] == to_node[0] || !graph_add_edge(from_node[0], to_node[0])))
            e = cudaErrorInvalidValue;
        os_free(from_node);
        os_free(to_node);
    }
    return call_end(e);
}

/* ---- looking ---- */

/* Lists are asked for twice: without room for the number, then with room for that many
 * (documented); left-over room is set to null. */
struct list {
    cudaGraphNode_t *nodes, *to_nodes;
    size_t capacity, count;
};

static void list_put(struct list *l, struct node *n, struct node *to_node)
{
    if (l->nodes && l->count < l->capacity)
        l->nodes[l->count] = n->handle;
    if (l->to_nodes && l->count < l->capacity)
        l->to_nodes[l->count] = to_node->handle;
    if (l->count < l->capacity || !l->nodes)
        l->count++;
}

static void list_finish(struct list *l, size_t *count)
{
    for (size_t i = l->count; l->nodes && i < l->capacity; i++)
        l->nodes[i] = NULL;
    for (size_t i = l->count; l->to_nodes && i < l->capacity; i++)
        l->to_nodes[i] = NULL;
    *count = l->count;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    cudaError_t e = CALL("cudaGraphGetNodes", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!g || !count))
        e = cudaErrorInvalidValue;
    if (!e) {
        struct list l = {nodes, NULL, nodes ? *count : 0, 0};
        for (struct node *n = g->first; n; n = n->next)
            list_put(&l, n, NULL);
        list_finish(&l, count);
        journal_number("nodes", *count);
    }
    return call_end(e);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *data, size_t *count)
{
    cudaError_t e = CALL("cudaGraphGetEdges", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!g || !count || !from != !to))
        e = cudaErrorInvalidValue;
    if (!e) {
        struct list l = {from, to, from ? *count : 0, 0};
        for (struct node *n = g->first; n; n = n->next)
            for (size_t i = 0; i < n->dependency_count; i++)
                list_put(&l, n->dependencies[i], n);
        list_finish(&l, count);
        for (size_t i = 0; data && i < l.count && i < l.capacity; i++)
            data[i] = (cudaGraphEdgeData){0};
    }
    return call_end(e);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    cudaError_t e = CALL("cudaGraphNodeGetType", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || !type))
        e = cudaErrorInvalidValue;
    if (!e)
        *type = task_type(&n->task);
    return call_end(e);
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *p)
{
    cudaError_t e = CALL("cudaGraphMemAllocNodeGetParams", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || !p || n->task.kind != TASK_ALLOCATE))
        e = cudaErrorInvalidValue;
    if (!e)
        graph_allocation_params(n->task.allocation, p);
    return call_end(e);
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *address)
{
    cudaError_t e = CALL("cudaGraphMemFreeNodeGetParams", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || !address || n->task.kind != TASK_FREE))
        e = cudaErrorInvalidValue;
    if (!e)
        *(void **)address = graph_allocation_address(n->task.allocation);
    return call_end(e);
}
