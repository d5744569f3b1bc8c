/* Calls that list the nodes and edges of a graph, and that remove them. */
#include "graph/graph.h"

#include <stdlib.h>

#include "api/graph_arguments.h"
#include "graph_list_calls.inc"
#include "os/os.h"

/* A program queries a list twice: without room, to learn the number, and then with room for that
 * many. Unused room is set to null (documented). The order of each list, and that room for no entry
 * is an error, are measured (probe-odd-answers.txt, "lists"). */
struct list {
    cudaGraphNode_t *nodes, *to_nodes;
    size_t capacity, count;
};

static bool list_begin(struct list *l, cudaGraphNode_t *nodes, cudaGraphNode_t *to_nodes,
                       const size_t *count)
{
    *l = (struct list){nodes, to_nodes, nodes && count ? *count : 0, 0};
    return count && (!nodes || *count);
}

static void list_put(struct list *l, struct node *n, struct node *to_node)
{
    if (l->nodes && l->count < l->capacity)
        l->nodes[l->count] = n->handle;
    if (l->to_nodes && l->count < l->capacity)
        l->to_nodes[l->count] = to_node->handle;
    if (l->count < l->capacity || !l->nodes)
        l->count++;
}

/* Writes the number of nodes, sets unused room to null, and says of each edge that it has no
 * data, because edges with data are not simulated. */
static void list_finish(const struct list *l, cudaGraphEdgeData *data, size_t *count)
{
    for (size_t i = 0; data && i < l->count && i < l->capacity; i++)
        data[i] = (cudaGraphEdgeData){0};
    for (size_t i = l->count; l->nodes && i < l->capacity; i++)
        l->nodes[i] = NULL;
    for (size_t i = l->count; l->to_nodes && i < l->capacity; i++)
        l->to_nodes[i] = NULL;
    *count = l->count;
}

static int compare_roots(const void *left, const void *right)
{
    const struct node *const *a = left, *const *b = right;
    return ((*b)->root_number > (*a)->root_number) - ((*b)->root_number < (*a)->root_number);
}

/* The node that became a root last comes first. */
static void list_put_roots(struct list *l, const struct graph *g)
{
    struct node **roots = os_allocate((g->count + 1) * sizeof(struct node *));
    size_t count = 0;
    for (struct node *n = g->first; n; n = n->next)
        if (!n->dependency_count)
            roots[count++] = n;
    qsort(roots, count, sizeof *roots, compare_roots);
    for (size_t i = 0; i < count; i++)
        list_put(l, roots[i], NULL);
    os_free(roots);
}

cudaError_t graph_list_nodes(struct call *call, cudaGraph_t graph, cudaGraphNode_t *nodes,
                             size_t *count, bool roots)
{
    struct graph *g = graph_of(call, graph);
    struct list l;
    if (!list_begin(&l, nodes, NULL, count) || !g)
        return cudaErrorInvalidValue;
    if (roots)
        list_put_roots(&l, g);
    for (struct node *n = g->first; !roots && n; n = n->next)
        list_put(&l, n, NULL);
    list_finish(&l, NULL, count);
    return cudaSuccess;
}

cudaError_t do_cudaGraphGetNodes(struct call *call, cudaGraph_t graph, cudaGraphNode_t *nodes,
                                 size_t *count)
{
    cudaError_t e = graph_list_nodes(call, graph, nodes, count, false);
    if (!e)
        line_number(&call->line, "nodes", *count);
    return e;
}

cudaError_t do_cudaGraphGetEdges(struct call *call, cudaGraph_t graph, cudaGraphNode_t *from,
                                 cudaGraphNode_t *to, cudaGraphEdgeData *data, size_t *count)
{
    struct graph *g = graph_of(call, graph);
    struct list l;
    if (!list_begin(&l, from, to, count) || !g || !from != !to)
        return cudaErrorInvalidValue;
    for (struct node *n = g->first; n; n = n->next)
        for (size_t i = 0; i < n->dependent_count; i++)
            list_put(&l, n, n->dependents[i]);
    list_finish(&l, data, count);
    return cudaSuccess;
}

cudaError_t graph_list_neighbors(struct call *call, cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                 cudaGraphEdgeData *data, size_t *count, bool dependents)
{
    struct node *n = node_of(call, node);
    struct list l;
    if (!list_begin(&l, nodes, NULL, count) || !n)
        return cudaErrorInvalidValue;
    size_t found = dependents ? n->dependent_count : n->dependency_count;
    for (size_t i = 0; i < found; i++)
        list_put(&l, dependents ? n->dependents[i] : n->dependencies[i], NULL);
    list_finish(&l, data, count);
    return cudaSuccess;
}

/* Measured: the edges before one that does not exist are removed (probe-more-answers.txt,
 * "graph_edges"), and a graph with memory nodes keeps its edges and nodes (probe-graph-nodes.txt,
 * "destroyed_nodes"). */
cudaError_t do_cudaGraphRemoveDependencies(struct call *call, cudaGraph_t graph,
                                           const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                           const cudaGraphEdgeData *data, size_t count)
{
    struct graph *g = graph_of(call, graph);
    if (!g || (count && (!from || !to)))
        return cudaErrorInvalidValue;
    if (!count)
        return cudaSuccess;
    if (g->has_memory_nodes)
        return cudaErrorNotSupported;
    for (size_t i = 0; i < count; i++) {
        struct node *f = node_of(call, from[i]), *t = node_of(call, to[i]);
        if (!f || !t || f->graph != g || t->graph != g || !graph_has_edge(f, t))
            return cudaErrorInvalidValue;
        graph_remove_edge(f, t);
    }
    return cudaSuccess;
}

/* Assumed: no node can be destroyed while a capture adds to the graph. */
cudaError_t do_cudaGraphDestroyNode(struct call *call, cudaGraphNode_t node)
{
    struct node *n = node_of(call, node);
    if (!n || n->graph->capturing)
        return cudaErrorInvalidValue;
    if (n->graph->has_memory_nodes)
        return cudaErrorNotSupported;
    graph_remove_node(n);
    return cudaSuccess;
}
