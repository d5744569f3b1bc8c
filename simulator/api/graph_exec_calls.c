/* Calls for executable graphs, their launches, and the memory that a device keeps for graphs. */
#include "graph/graph_exec.h"

#include "api/graph_arguments.h"
#include "graph_exec_calls.inc"
#include "base/hazards.h"
#include "graph/capture.h"
#include "graph/graph_memory.h"
#include "mem/device.h"
#include "os/os.h"

cudaError_t do_cudaGraphInstantiate(struct call *call, cudaGraphExec_t *exec, cudaGraph_t graph,
                                    unsigned long long flags)
{
    /* Documented: cudaGraphInstantiateFlagUpload is only for cudaGraphInstantiateWithParams. */
    unsigned long long valid_flags = cudaGraphInstantiateFlagAutoFreeOnLaunch
                                   | cudaGraphInstantiateFlagDeviceLaunch
                                   | cudaGraphInstantiateFlagUseNodePriority;
    if (flags & ~valid_flags)
        return cudaErrorInvalidValue;
    cudaError_t e = capture_check_unsafe();
    if (e)
        return e;
    struct graph *g = graph_of(call, graph);
    struct graph_exec *x;
    if (!exec || !g)
        return cudaErrorInvalidValue;
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) {
        /* Measured (probe-graphs.txt, "graph_codes"). */
        if (g->has_memory_nodes)
            return cudaErrorInvalidValue;
        diag("launches from the device are not simulated: instantiating for them returns "
             "cudaErrorNotSupported.");
        hazards_gave_up("a graph for launches from the device was refused");
        return cudaErrorNotSupported;
    }
    /* Measured (probe-odd-captures.txt, "destroyed_event"): a driver dies of a destroyed event. */
    for (const struct node *n = g->first; n; n = n->next)
        call_object(call, HANDLE_EVENT, n->task.event);
    e = graph_exec_new(g, flags, &x);
    if (e)
        return e;
    x->made_by = call->origin.number;
    x->device = device_current();
    *exec = x->handle;
    return cudaSuccess;
}

cudaError_t do_cudaGraphExecDestroy(struct call *call, cudaGraphExec_t exec)
{
    struct graph_exec *x = graph_exec_of(call, exec);
    /* Assumed for a launch that another thread is making, which no program may do. */
    if (!x || x->is_waiting)
        return cudaErrorInvalidValue;
    graph_exec_destroy(x);
    return cudaSuccess;
}

static void line_figures(struct journal_line *line, int device)
{
    const struct graph_figures *f = graph_segments_figures(device);
    line_number(line, "reserved", f->reserved);
    line_number(line, "used", f->used);
}

cudaError_t graph_launch_unlocking(struct call *call, cudaGraphExec_t exec, cudaStream_t stream,
                                   bool uploads)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct graph_exec *x = graph_exec_of(call, exec);
    if (!x)
        return cudaErrorInvalidValue;
    /* Measured (probe-graph-nodes.txt, "launch_captured"): a capture forbids this. */
    cudaError_t e = capture_forbid(s);
    if (e)
        return e;
    e = uploads ? graph_exec_upload_unlocking(call, x, s) : graph_exec_launch_unlocking(call, x, s);
    line_figures(&call->line, s->device);
    return e;
}

cudaError_t do_cudaDeviceGraphMemTrim(struct call *call, int device)
{
    line_signed(&call->line, "device", device);
    /* Measured (probe-graphs.txt, "graph_sizes"). */
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    graph_memory_trim(device);
    line_figures(&call->line, device);
    return cudaSuccess;
}

static const char *attribute_name(enum cudaGraphMemAttributeType attribute)
{
    static const char *const names[] = {
        "cudaGraphMemAttrUsedMemCurrent", "cudaGraphMemAttrUsedMemHigh",
        "cudaGraphMemAttrReservedMemCurrent", "cudaGraphMemAttrReservedMemHigh"};
    return (unsigned)attribute < 4 ? names[attribute] : "unknown";
}

cudaError_t do_cudaDeviceGetGraphMemAttribute(struct call *call, int device,
                                              enum cudaGraphMemAttributeType attribute, void *value)
{
    line_signed(&call->line, "device", device);
    line_text(&call->line, "attribute", attribute_name(attribute));
    /* Documented. */
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    if (!value || (unsigned)attribute > cudaGraphMemAttrReservedMemHigh)
        return cudaErrorInvalidValue;
    const struct graph_figures *f = graph_segments_figures(device);
    const size_t values[] = {f->used, f->used_high, f->reserved, f->reserved_high};
    *(uint64_t *)value = call_told(values[attribute], sizeof(uint64_t));
    line_number(&call->line, "value", *(uint64_t *)value);
    return cudaSuccess;
}

cudaError_t do_cudaDeviceSetGraphMemAttribute(struct call *call, int device,
                                              enum cudaGraphMemAttributeType attribute, void *value)
{
    line_signed(&call->line, "device", device);
    line_text(&call->line, "attribute", attribute_name(attribute));
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    struct graph_figures *f = graph_segments_figures(device);
    /* A watermark can only be set to 0 (documented), which sets it to the current value, as in
     * pools (measured: probe-graphs.txt, "graph_sizes"). */
    if (!value || *(const uint64_t *)value)
        return cudaErrorInvalidValue;
    switch (attribute) {
    case cudaGraphMemAttrUsedMemHigh: f->used_high = f->used; return cudaSuccess;
    case cudaGraphMemAttrReservedMemHigh: f->reserved_high = f->reserved; return cudaSuccess;
    default: return cudaErrorInvalidValue;
    }
}
