/* The API's skin: stream capture. */
#include "api/export.h"

#include "api/call.h"
#include "graph/capture.h"
#include "sched/cost.h"
#include "graph/graph_handle.h"
#include "os/os.h"
#include "base/journal.h"

static bool is_mode(enum cudaStreamCaptureMode mode)
{
    return mode == cudaStreamCaptureModeGlobal || mode == cudaStreamCaptureModeThreadLocal
        || mode == cudaStreamCaptureModeRelaxed;
}

/* ---- beginning and end ---- */

static cudaError_t begin_capture(cudaStream_t stream, enum cudaStreamCaptureMode mode,
                                 bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamBeginCapture", COST_SMALL);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e && !is_mode(mode))
        e = cudaErrorInvalidValue;
    if (!e)
        e = capture_begin(s, mode);
    return call_end(e);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return AT(begin_capture(stream, mode, false));
}
EXPORT cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return AT(begin_capture(stream, mode, true));
}

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamEndCapture", COST_SMALL);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    struct graph *g;
    if (!e) {
        e = capture_end(s, &g);
        if (graph)
            *graph = g ? g->handle : NULL;
        /* Measured: a success; a graph that nobody can name is kept nowhere (chosen). */
        else if (g)
            graph_destroy(g);
    }
    return call_end(e);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    return AT(end_capture(stream, graph, false));
}
EXPORT cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *graph)
{
    return AT(end_capture(stream, graph, true));
}

/* ---- asking ---- */

static cudaError_t is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamIsCapturing", COST_SMALL);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e && !status)
        e = cudaErrorInvalidValue;
    if (!e)
        e = capture_implicit(s);
    if (!e)
        *status = capture_state(s).status;
    return call_end(e);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    return AT(is_capturing(stream, status, false));
}
EXPORT cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream,
                                              enum cudaStreamCaptureStatus *status)
{
    return AT(is_capturing(stream, status, true));
}

static cudaError_t get_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                            unsigned long long *id, cudaGraph_t *graph,
                            const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **data,
                            size_t *count, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamGetCaptureInfo", COST_SMALL);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e && (!status || (data && !dependencies)))
        e = cudaErrorInvalidValue; /* documented */
    if (!e)
        e = capture_implicit(s);
    if (!e) {
        struct capture_state state = capture_state(s);
        bool active = state.status == cudaStreamCaptureStatusActive;
        *status = state.status;
        if (active && id)
            *id = state.id;
        if (active && graph)
            *graph = state.graph->handle;
        if (active && dependencies)
            *dependencies = (const cudaGraphNode_t *)state.handles;
        if (active && data)
            *data = state.edges;
        if (active && count)
            *count = state.count;
    }
    return call_end(e);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **data, size_t *count)
{
    return AT(get_info(stream, status, id, graph, dependencies, data, count, false));
}

EXPORT cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream,
                                                 enum cudaStreamCaptureStatus *status,
                                                 unsigned long long *id, cudaGraph_t *graph,
                                                 const cudaGraphNode_t **dependencies,
                                                 const cudaGraphEdgeData **data, size_t *count)
{
    return AT(get_info(stream, status, id, graph, dependencies, data, count, true));
}

static cudaError_t update_dependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                       const cudaGraphEdgeData *data, size_t count, unsigned flags,
                                       bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamUpdateCaptureDependencies", COST_SMALL);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    struct node **nodes = NULL;
    if (!e && flags > cudaStreamSetCaptureDependencies)
        e = cudaErrorInvalidValue;
    if (!e)
        e = capture_check(s);
    if (!e && !s->capturing)
        e = cudaErrorIllegalState; /* documented */
    if (!e)
        e = graph_nodes_of(capture_state(s).graph, dependencies, data, count, &nodes);
    if (!e)
        capture_depend(s, nodes, count, flags == cudaStreamSetCaptureDependencies);
    os_free(nodes);
    return call_end(e);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                const cudaGraphEdgeData *data, size_t count,
                                                unsigned int flags)
{
    return AT(update_dependencies(stream, dependencies, data, count, flags, false));
}

EXPORT cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream,
                                                            cudaGraphNode_t *dependencies,
                                                            const cudaGraphEdgeData *data,
                                                            size_t count, unsigned int flags)
{
    return AT(update_dependencies(stream, dependencies, data, count, flags, true));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    cudaError_t e = CALL("cudaThreadExchangeStreamCaptureMode", COST_SMALL);
    if (!e && !mode)
        e = cudaErrorInvalidValue; /* measured: any number is taken */
    if (!e)
        *mode = capture_exchange_mode(*mode);
    return call_end(e);
}
