/* Handles and lists of graphs. */
#include "api/graph_handle.h"

#include "api/call.h"
#include "graph/graph_exec.h"
#include "mem/device.h"
#include "os/os.h"

struct graph *graph_of(struct call *call, cudaGraph_t handle)
{
    if (!handle)
        return NULL;
    struct graph *g = handle_object(HANDLE_GRAPH, handle);
    if (!g)
        call_bad_handle(call, "a graph", HANDLE_GRAPH, handle, "cudaGraphDestroy",
                        "cudaGraphCreate");
    line_number(&call->line, "graph", (uint64_t)g->id);
    return g;
}

struct node *node_of(struct call *call, cudaGraphNode_t handle)
{
    if (!handle)
        return NULL;
    struct node *n = handle_object(HANDLE_GRAPH_NODE, handle);
    if (!n)
        call_bad_handle(call, "a node of a graph", HANDLE_GRAPH_NODE, handle, "cudaGraphDestroy",
                        "the function that adds it");
    return n;
}

struct graph_exec *graph_exec_of(struct call *call, cudaGraphExec_t handle)
{
    if (!handle)
        return NULL;
    struct graph_exec *x = handle_object(HANDLE_GRAPH_EXEC, handle);
    if (!x)
        call_bad_handle(call, "an executable graph", HANDLE_GRAPH_EXEC, handle,
                        "cudaGraphExecDestroy", "cudaGraphInstantiate");
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
