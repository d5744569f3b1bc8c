/* What the program holds of graphs. */
#include "graph/graph_handle.h"

#include "api/call.h"
#include "os/os.h"
#include "base/journal.h"
#include "graph/graph_exec.h"

struct graph *graph_of(cudaGraph_t handle)
{
    struct graph *g = handle ? handle_object(HANDLE_GRAPH, handle) : NULL;
    if (g)
        journal_number("graph", (uint64_t)g->id);
    else if (handle)
        call_bad_handle("a graph", HANDLE_GRAPH, handle, "cudaGraphDestroy", "cudaGraphCreate");
    return g;
}

struct node *node_of(cudaGraphNode_t handle)
{
    struct node *n = handle ? handle_object(HANDLE_GRAPH_NODE, handle) : NULL;
    if (!n && handle)
        call_bad_handle("a node of a graph", HANDLE_GRAPH_NODE, handle, "cudaGraphDestroy",
                        "the function that adds it");
    return n;
}

struct graph_exec *graph_exec_of(cudaGraphExec_t handle)
{
    struct graph_exec *x = handle ? handle_object(HANDLE_GRAPH_EXEC, handle) : NULL;
    if (x)
        journal_number("graph", (uint64_t)x->id);
    else if (handle)
        call_bad_handle("an executable graph", HANDLE_GRAPH_EXEC, handle, "cudaGraphExecDestroy",
                        "cudaGraphInstantiate");
    return x;
}

static bool has_data(const cudaGraphEdgeData *d) { return d->from_port || d->to_port || d->type; }

cudaError_t graph_nodes_of(const struct graph *g, const cudaGraphNode_t *handles,
                           const cudaGraphEdgeData *data, size_t count, struct node ***nodes)
{
    *nodes = NULL;
    if (count && !handles)
        return cudaErrorInvalidValue;
    struct node **list = os_allocate(count * sizeof(struct node *));
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; i < count && !e; i++) {
        list[i] = node_of(handles[i]);
        if (!list[i] || list[i]->graph != g)
            e = cudaErrorInvalidValue;
        for (size_t k = 0; k < i && !e; k++)
            if (list[k] == list[i])
                e = cudaErrorInvalidValue;
        if (!e && data && has_data(&data[i]))
            e = cudaErrorNotSupported;
    }
    if (e)
        os_free(list);
    else
        *nodes = list;
    return e;
}
