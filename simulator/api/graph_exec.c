/* The API's skin: executable graphs, their launches, and the memory that a device keeps for
 * graphs. */
#include "api/export.h"

#include "api/call.h"
#include "graph/capture.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "graph/graph_handle.h"
#include "graph/graph_memory.h"
#include "os/os.h"
#include "base/journal.h"
#include "graph/graph_exec.h"

/* ---- instantiation ---- */

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    /* documented: cudaGraphInstantiateFlagUpload is for cudaGraphInstantiateWithParams alone */
    unsigned long long valid_flags =
        cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUseNodePriority;
    struct graph *g = graph_of(graph);
    struct graph_exec *x;
    if (!exec || !g)
        return cudaErrorInvalidValue;
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) {
        if (g->has_memory_nodes)
            return cudaErrorInvalidValue; /* measured */
        diag("launches from the device are not simulated: instantiating for them returns "
             "cudaErrorNotSupported.");
        return cudaErrorNotSupported;
    }
    if (flags & ~valid_flags || g->capturing)
        return cudaErrorInvalidValue;
    cudaError_t e = graph_exec_new(g, flags, &x);
    if (!e)
        *exec = x->handle;
    return e;
}

static cudaError_t instantiate_by(const char *name, cudaGraphExec_t *exec, cudaGraph_t graph,
                                  unsigned long long flags)
{
    cudaError_t e = call_begin(name, COST_GRAPH_INSTANTIATE);
    if (!e)
        e = instantiate(exec, graph, flags);
    return call_end(e);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return AT(instantiate_by("cudaGraphInstantiate", exec, graph, flags));
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return AT(instantiate_by("cudaGraphInstantiateWithFlags", exec, graph, flags));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    cudaError_t e = CALL("cudaGraphExecDestroy", COST_SMALL);
    struct graph_exec *x = e ? NULL : graph_exec_of(exec);
    if (!e && !x)
        e = cudaErrorInvalidValue;
    if (!e)
        graph_exec_destroy(x);
    return call_end(e);
}

/* ---- launch ---- */

static void journal_figures(int device)
{
    const struct graph_figures *f = graph_memory_figures(device);
    journal_number("reserved", f->reserved);
    journal_number("used", f->used);
}

static cudaError_t launch_or_upload(const char *name, cudaGraphExec_t exec, cudaStream_t stream,
                                    bool per_thread,
                                    cudaError_t (*act)(struct graph_exec *, struct stream *))
{
    cudaError_t e = call_begin(name, COST_GRAPH_LAUNCH);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    struct graph_exec *x = e ? NULL : graph_exec_of(exec);
    if (!e && !x)
        e = cudaErrorInvalidValue;
    if (!e)
        e = capture_forbid(s); /* measured: no node does this */
    if (!e) {
        e = act(x, s);
        journal_figures(s->device);
    }
    return call_end(e);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return AT(launch_or_upload("cudaGraphLaunch", exec, stream, false, graph_exec_launch));
}
EXPORT cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream)
{
    return AT(launch_or_upload("cudaGraphLaunch", exec, stream, true, graph_exec_launch));
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    return AT(launch_or_upload("cudaGraphUpload", exec, stream, false, graph_exec_upload));
}
EXPORT cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t stream)
{
    return AT(launch_or_upload("cudaGraphUpload", exec, stream, true, graph_exec_upload));
}

/* ---- the memory that a device keeps for graphs ---- */

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    cudaError_t e = CALL("cudaDeviceGraphMemTrim", COST_SMALL);
    journal_signed("device", device);
    if (!e && !device_exists(device))
        e = cudaErrorInvalidDevice; /* measured */
    if (!e) {
        graph_memory_trim(device);
        journal_figures(device);
    }
    return call_end(e);
}

static const char *attribute_name(enum cudaGraphMemAttributeType attribute)
{
    static const char *const names[] = {
        "cudaGraphMemAttrUsedMemCurrent", "cudaGraphMemAttrUsedMemHigh",
        "cudaGraphMemAttrReservedMemCurrent", "cudaGraphMemAttrReservedMemHigh"};
    return (unsigned)attribute < 4 ? names[attribute] : "unknown";
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                           void *value)
{
    cudaError_t e = CALL("cudaDeviceGetGraphMemAttribute", COST_SMALL);
    journal_signed("device", device);
    journal_text("attribute", attribute_name(attribute));
    if (!e && !device_exists(device))
        e = cudaErrorInvalidDevice; /* documented */
    if (!e && (!value || (unsigned)attribute > cudaGraphMemAttrReservedMemHigh))
        e = cudaErrorInvalidValue;
    if (!e) {
        const struct graph_figures *f = graph_memory_figures(device);
        const size_t answers[] = {f->used, f->used_high, f->reserved, f->reserved_high};
        *(uint64_t *)value = answers[attribute];
        journal_number("value", answers[attribute]);
    }
    return call_end(e);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                           void *value)
{
    cudaError_t e = CALL("cudaDeviceSetGraphMemAttribute", COST_SMALL);
    journal_signed("device", device);
    journal_text("attribute", attribute_name(attribute));
    if (!e && !device_exists(device))
        e = cudaErrorInvalidDevice;
    bool high =
        attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
    /* documented: a high mark can only be set to 0; measured: that sets it to the current value, as
     * in pools */
    if (!e && (!value || !high || *(const uint64_t *)value))
        e = cudaErrorInvalidValue;
    if (!e) {
        struct graph_figures *f = graph_memory_figures(device);
        if (attribute == cudaGraphMemAttrUsedMemHigh)
            f->used_high = f->used;
        else
            f->reserved_high = f->reserved;
    }
    return call_end(e);
}
