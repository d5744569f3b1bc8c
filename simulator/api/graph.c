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
    if (!e && (!graph || flags)) e = cudaErrorInvalidValue;
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
    if (!e && (!g || g->capturing)) e = cudaErrorInvalidValue;       /* documented: not while a capture adds to it */
    if (!e) graph_destroy(g);
    return call_end(e);
}

/* ---- adding nodes ---- */

/* What every function that adds a node begins with. */
struct adding { struct graph *g; struct node **before; size_t count; };

static cudaError_t begin_adding(const char *name, struct adding *a, cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count)
{
    cudaError_t e = call_begin(name, COST_SMALL);
    *a = (struct adding){ .g = e ? NULL : graph_of(graph), .count = count };
    if (!e && (!node || !a->g)) e = cudaErrorInvalidValue;
    return e ? e : graph_nodes_of(a->g, dependencies, NULL, count, &a->before);
}

static cudaError_t end_adding(cudaError_t e, struct adding *a, cudaGraphNode_t *node, struct task *t)
{
    if (!e) {
        struct deed by = checker_caller();
        t->call = by.call;
        t->site = by.site;
        t->newest = checker_newest_block();
        t->device = device_current();
        struct node *n = graph_add(a->g, t, a->before, a->count);
        if (t->block) graph_block_keep(n);
        journal_number("node", n->number);
        *node = n->handle;
    }
    host_free(a->before);
    return call_end(e);
}

#define ADDING cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count
#define BEGIN(name) struct adding a; struct task t = { .kind = TASK_EMPTY, .device = device_current() }; cudaError_t e = AT(begin_adding(name, &a, node, graph, dependencies, count))

/* Where nodes allocate. measured (probe-graphs.txt, "graph_codes"; probe-graph-nodes.txt, "managed"): on a device, and what is called managed is the device's own
 * memory then; nothing that could be shared; elsewhere, refused in one of two ways. */
static cudaError_t allocation_place(const struct cudaMemPoolProps *props)
{
    bool managed = props->allocType == cudaMemAllocationTypeManaged;
    if (!managed && props->allocType != cudaMemAllocationTypePinned) return cudaErrorInvalidValue;
    switch (props->location.type) {
    case cudaMemLocationTypeDevice:   return !device_exists(props->location.id) ? cudaErrorInvalidValue : props->handleTypes ? cudaErrorNotSupported : cudaSuccess;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma: return cudaErrorNotSupported;
    default:                          return managed ? cudaErrorNotSupported : cudaErrorInvalidValue;
    }
}

/* One allocation node. `address` gets what it will allocate. */
static cudaError_t allocation_task(struct task *t, const struct adding *a, const struct cudaMemPoolProps *props, const struct cudaMemAccessDesc *list, size_t count, size_t bytes, void **address)
{
    uint32_t access = 0;
    if (!bytes || (count && !list)) return cudaErrorInvalidValue;
    cudaError_t e = allocation_place(props);
    if (e) return e;
    for (size_t i = 0; i < count; i++) {
        if (list[i].location.type != cudaMemLocationTypeDevice || !device_exists(list[i].location.id)) return cudaErrorInvalidValue;
        if (list[i].flags != cudaMemAccessFlagsProtReadWrite) return cudaErrorInvalidValue;
        access |= 1u << list[i].location.id;
    }
    t->block = graph_block_new(a->g, props->location.id, bytes, access, a->before, a->count);
    if (!t->block) return cudaErrorMemoryAllocation;
    t->kind = TASK_ALLOCATE;
    *address = graph_block_address(t->block);
    return cudaSuccess;
}

static cudaError_t free_task(struct task *t, const struct adding *a, const void *address)
{
    t->kind = TASK_FREE;
    t->block = graph_block_to_free(a->g, address);
    return t->block ? cudaSuccess : cudaErrorInvalidValue;   /* documented: freed twice, or not what an allocation node returned */
}

cudaError_t cudaGraphAddEmptyNode(ADDING)
{
    BEGIN("cudaGraphAddEmptyNode");
    return end_adding(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemsetNode(ADDING, const struct cudaMemsetParams *p)
{
    BEGIN("cudaGraphAddMemsetNode");
    if (!e) e = p ? submit_memset_task(&t, p->dst, p->pitch, p->value, p->elementSize, p->width, p->height) : cudaErrorInvalidValue;
    return end_adding(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemcpyNode1D(ADDING, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    BEGIN("cudaGraphAddMemcpyNode1D");
    if (!e) {
        t = (struct task){ .kind = TASK_COPY, .device = t.device, .to = to, .from = from, .count = bytes, .direction = kind };
        e = bytes ? submit_check_copy(&t) : cudaErrorInvalidValue;
    }
    return end_adding(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemAllocNode(ADDING, struct cudaMemAllocNodeParams *p)
{
    BEGIN("cudaGraphAddMemAllocNode");
    if (!e) e = p ? allocation_task(&t, &a, &p->poolProps, p->accessDescs, p->accessDescCount, p->bytesize, &p->dptr) : cudaErrorInvalidValue;
    return end_adding(e, &a, node, &t);
}

cudaError_t cudaGraphAddMemFreeNode(ADDING, void *address)
{
    BEGIN("cudaGraphAddMemFreeNode");
    if (!e) e = free_task(&t, &a, address);
    return end_adding(e, &a, node, &t);
}

/* ---- edges ---- */

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *data, size_t count)
{
    cudaError_t e = CALL("cudaGraphAddDependencies", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!g || (count && (!from || !to)))) e = cudaErrorInvalidValue;
    for (size_t i = 0; i < count && !e; i++) {
        struct node **one = NULL, **other = NULL;
        e = graph_nodes_of(g, &from[i], data ? &data[i] : NULL, 1, &one);
        if (!e) e = graph_nodes_of(g, &to[i], NULL, 1, &other);
        if (!e && (one[0] == other[0] || !graph_add_edge(one[0], other[0]))) e = cudaErrorInvalidValue;   /* documented: an edge that is there already */
        host_free(one);
        host_free(other);
    }
    return call_end(e);
}

/* ---- looking ---- */

/* Lists are asked for twice: without room for the number, then with room for that many (documented); left-over room is set to null. */
struct list { cudaGraphNode_t *nodes, *others; size_t room, count; };

static void put(struct list *l, struct node *n, struct node *other)
{
    if (l->nodes && l->count < l->room) l->nodes[l->count] = n->handle;
    if (l->others && l->count < l->room) l->others[l->count] = other->handle;
    if (l->count < l->room || !l->nodes) l->count++;
}

static void finish(struct list *l, size_t *count)
{
    for (size_t i = l->count; l->nodes && i < l->room; i++) l->nodes[i] = NULL;
    for (size_t i = l->count; l->others && i < l->room; i++) l->others[i] = NULL;
    *count = l->count;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    cudaError_t e = CALL("cudaGraphGetNodes", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!g || !count)) e = cudaErrorInvalidValue;
    if (!e) {
        struct list l = { nodes, NULL, nodes ? *count : 0, 0 };
        for (struct node *n = g->first; n; n = n->next) put(&l, n, NULL);
        finish(&l, count);
        journal_number("nodes", *count);
    }
    return call_end(e);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data, size_t *count)
{
    cudaError_t e = CALL("cudaGraphGetEdges", COST_SMALL);
    struct graph *g = e ? NULL : graph_of(graph);
    if (!e && (!g || !count || !from != !to)) e = cudaErrorInvalidValue;
    if (!e) {
        struct list l = { from, to, from ? *count : 0, 0 };
        for (struct node *n = g->first; n; n = n->next)
            for (size_t i = 0; i < n->before_count; i++) put(&l, n->before[i], n);
        finish(&l, count);
        for (size_t i = 0; data && i < l.count && i < l.room; i++) data[i] = (cudaGraphEdgeData){ 0 };
    }
    return call_end(e);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    cudaError_t e = CALL("cudaGraphNodeGetType", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || !type)) e = cudaErrorInvalidValue;
    if (!e) *type = task_type(&n->task);
    return call_end(e);
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *p)
{
    cudaError_t e = CALL("cudaGraphMemAllocNodeGetParams", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || !p || n->task.kind != TASK_ALLOCATE)) e = cudaErrorInvalidValue;
    if (!e) graph_block_parameters(n->task.block, p);
    return call_end(e);
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *address)
{
    cudaError_t e = CALL("cudaGraphMemFreeNodeGetParams", COST_SMALL);
    struct node *n = e ? NULL : node_of(node);
    if (!e && (!n || !address || n->task.kind != TASK_FREE)) e = cudaErrorInvalidValue;
    if (!e) *(void **)address = graph_block_address(n->task.block);
    return call_end(e);
}
