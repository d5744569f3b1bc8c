/* Calls for stream capture. */
#include "graph/capture.h"

#include "capture_calls.inc"
#include "api/graph_arguments.h"
#include "os/os.h"

static bool is_mode(enum cudaStreamCaptureMode mode)
{
    return mode == cudaStreamCaptureModeGlobal || mode == cudaStreamCaptureModeThreadLocal
        || mode == cudaStreamCaptureModeRelaxed;
}

cudaError_t do_cudaStreamBeginCapture(struct call *call, cudaStream_t stream,
                                      enum cudaStreamCaptureMode mode)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (!is_mode(mode))
        return cudaErrorInvalidValue;
    cudaError_t e = capture_check_begin(s);
    if (!e)
        capture_begin(call, s, mode, NULL, NULL, 0);
    return e;
}

/* Measured: a graph without nodes is accepted (probe-graph-again.txt, "conditional_capture"), and
 * one to which a capture already adds is rejected (probe-more-answers.txt, "body_by_capture"). */
cudaError_t do_cudaStreamBeginCaptureToGraph(struct call *call, cudaStream_t stream,
                                             cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                             const cudaGraphEdgeData *data, size_t count,
                                             enum cudaStreamCaptureMode mode)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (!is_mode(mode) || !graph)
        return cudaErrorInvalidValue;
    cudaError_t e = capture_check_begin(s);
    if (e)
        return e;
    struct graph *g = graph_of(call, graph);
    if (!g)
        return cudaErrorInvalidValue;
    if (g->capturing)
        return cudaErrorIllegalState;
    struct node **tips;
    e = graph_nodes_of(call, g, dependencies, data, count, &tips);
    if (!e)
        capture_begin(call, s, mode, g, tips, count);
    /* The line already names the graph. */
    call->made.graph = 0;
    os_free(tips);
    return e;
}

cudaError_t do_cudaStreamEndCapture(struct call *call, cudaStream_t stream, cudaGraph_t *graph)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct graph *g;
    bool is_kept = capture_is_in_graph_of_program(s);
    cudaError_t e = capture_end(call, s, &g);
    if (g)
        line_number(&call->line, "nodes", g->count);
    if (graph)
        *graph = g ? g->handle : NULL;
    /* Without an address for the graph the call succeeds (measured: probe-graphs.txt,
     * "capture_ends"). A graph for which the program has no handle is destroyed (assumed). */
    if (g && !graph && !is_kept)
        graph_destroy(g);
    return e;
}

cudaError_t do_cudaStreamIsCapturing(struct call *call, cudaStream_t stream,
                                     enum cudaStreamCaptureStatus *status)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (!status)
        return cudaErrorInvalidValue;
    cudaError_t e = capture_implicit(s);
    if (e)
        return e;
    *status = capture_state(s).status;
    return cudaSuccess;
}

cudaError_t do_cudaStreamGetCaptureInfo(struct call *call, cudaStream_t stream,
                                        enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **dependencies,
                                        const cudaGraphEdgeData **data, size_t *count)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    /* Documented: edge data is returned only together with the dependencies. */
    if (!status || (data && !dependencies))
        return cudaErrorInvalidValue;
    cudaError_t e = capture_implicit(s);
    if (e)
        return e;
    struct capture_state state = capture_state(s);
    *status = state.status;
    if (state.status != cudaStreamCaptureStatusActive)
        return cudaSuccess;
    if (id)
        *id = state.id;
    if (graph)
        *graph = state.graph->handle;
    if (dependencies)
        *dependencies = (const cudaGraphNode_t *)state.handles;
    if (data)
        *data = state.edges;
    if (count)
        *count = state.count;
    return cudaSuccess;
}

cudaError_t do_cudaStreamUpdateCaptureDependencies(struct call *call, cudaStream_t stream,
                                                   cudaGraphNode_t *dependencies,
                                                   const cudaGraphEdgeData *data, size_t count,
                                                   unsigned int flags)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct node **nodes;
    cudaError_t e = capture_check(s);
    if (e)
        return e;
    /* Documented. */
    if (!s->capturing)
        return cudaErrorIllegalState;
    if (flags > cudaStreamSetCaptureDependencies)
        return cudaErrorInvalidValue;
    e = graph_nodes_of(call, capture_state(s).graph, dependencies, data, count, &nodes);
    if (e)
        return e;
    capture_depend(s, nodes, count, flags == cudaStreamSetCaptureDependencies);
    os_free(nodes);
    return cudaSuccess;
}
