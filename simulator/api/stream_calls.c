/* Streams, events, and host functions. */
#include "api/launches.h"
#include "stream_calls.inc"
#include "check/event_waits.h"
#include "check/failed_call.h"
#include "graph/dispatch.h"
#include "ipc/ipc_event.h"
#include "mem/device.h"
#include "mem/pool.h"
#include "os/os.h"
#include "sched/cost.h"
#include "sched/engine.h"
#include "sched/event.h"
#include "sched/happens_before.h"
#include "sched/virtual_time.h"

/* ---- creating and destroying ---- */

int launch_priority(int priority) { return priority > 0 ? 0 : priority < -5 ? -5 : priority; }

cudaError_t do_cudaStreamCreateWithPriority(struct call *call, cudaStream_t *stream, unsigned flags,
                                            int priority)
{
    if (!stream || flags & ~(unsigned)cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    /* Measured (probe-answers.txt, "streams and events"): -99 becomes -5. */
    int clamped = launch_priority(priority);
    struct stream *s =
        stream_new(flags & cudaStreamNonBlocking ? STREAM_NON_BLOCKING : STREAM_BLOCKING,
                   device_current(), clamped);
    s->made_by = call->origin.call;
    s->made_at = call->origin.site;
    line_number(&call->line, "stream", (uint64_t)s->id);
    line_text(&call->line, "kind", flags & cudaStreamNonBlocking ? "non-blocking" : "blocking");
    *stream = s->handle;
    return cudaSuccess;
}

cudaError_t do_cudaStreamDestroy(struct call *call, cudaStream_t stream)
{
    /* Measured (probe-answers.txt, "streams and events"): no default stream can be destroyed. */
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return cudaErrorInvalidResourceHandle;
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    capture_stream_destroyed(s);
    pools_stream_destroyed(s);
    stream_destroy(s);
    return cudaSuccess;
}

/* ---- synchronization and queries ---- */

/* Iterates over the streams that a synchronization or query of `requested` covers. For the legacy
 * stream these include the blocking streams of its device. The call adds nothing to the legacy
 * stream, so it orders nothing on the device. */
static struct stream *next_covered(struct stream *requested, struct stream *after)
{
    if (requested->kind != STREAM_LEGACY)
        return after ? NULL : requested;
    struct stream *s = after ? after->next : stream_first();
    while (s && (s->device != requested->device || !stream_is_blocking(s)))
        s = s->next;
    return s;
}

cudaError_t do_cudaStreamSynchronize(struct call *call, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = capture_count ? capture_forbid_wait(s) : cudaSuccess;
    if (e)
        return e;
    if (s->memory_seq && s->memory_seq == s->last_seq && host_synchronized_seq(s) < s->last_seq)
        virtual_now += COST_SYNC_FREE;
    for (struct stream *each = NULL; (each = next_covered(s, each));)
        engine_finish_unlocking(each, SYNCHRONIZES, call->origin.call);
    pools_synchronized();
    return device_sticky_error;
}

cudaError_t do_cudaStreamQuery(struct call *call, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = capture_count ? capture_forbid_wait(s) : cudaSuccess;
    if (e)
        return e;
    for (struct stream *each = NULL; (each = next_covered(s, each));)
        if (each->done_seq < each->last_seq)
            return cudaErrorNotReady;
    for (struct stream *each = NULL; (each = next_covered(s, each));)
        host_acquire_stream(each, each->last_seq, ACQUIRES);
    return cudaSuccess;
}

struct event *call_event(struct call *call, cudaEvent_t handle)
{
    struct event *e = call_object(call, HANDLE_EVENT, handle);
    if (!e)
        return NULL;
    line_number(&call->line, "event", (uint64_t)e->id);
    call->has_lost_event = e->id <= device_last_reset(e->device)->event;
    return call->has_lost_event ? NULL : e;
}

/* Outside of a capture the flag "external" is invalid (documented: CUevent_record_flags,
 * CUevent_wait_flags). The error, and that the event is unchanged, are measured
 * (probe-graph-again.txt, "external_outside"). */
static bool is_external_outside(const struct stream *s, unsigned flags)
{
    return flags && !s->capturing;
}

cudaError_t do_cudaStreamWaitEvent(struct call *call, cudaStream_t stream, cudaEvent_t event,
                                   unsigned int flags)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct event *v = call_event(call, event);
    if (!v)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = capture_check(s);
    if (e)
        return e;
    if (flags & ~(unsigned)cudaEventWaitExternal)
        return cudaErrorInvalidValue;
    if (is_external_outside(s, flags)) {
        e = capture_event_error(v);
        return e == cudaErrorInvalidValue ? e : cudaErrorIllegalState;
    }
    /* Measured (probe-ipc.txt, "event"): waiting for an event that was never recorded does
     * nothing. */
    uint64_t before = s->last_seq;
    e = capture_or_wait(call, s, v, flags & cudaEventWaitExternal);
    if (line_is_open(&call->line))
        line_turn(call, s, before);
    if (e || s->capturing)
        return e;
    /* Waiting for nothing is over at once. */
    if (s->last_seq == before)
        line_number(&call->line, "turn", 1);
    event_waits_add(OP_WAIT, call, s, v);
    return e;
}

/* ---- properties of a stream ---- */

#define STREAM_PROPERTY(function, type, property)                             \
    cudaError_t function(struct call *call, cudaStream_t stream, type *value) \
    {                                                                         \
        if (!value)                                                           \
            return cudaErrorInvalidValue;                                     \
        struct stream *s = call_stream(call, stream);                         \
        if (!s)                                                               \
            return cudaErrorInvalidResourceHandle;                            \
        *value = property;                                                    \
        return cudaSuccess;                                                   \
    }

STREAM_PROPERTY(do_cudaStreamGetFlags, unsigned int,
                s->kind == STREAM_NON_BLOCKING ? cudaStreamNonBlocking : cudaStreamDefault)
STREAM_PROPERTY(do_cudaStreamGetPriority, int, s->priority)
STREAM_PROPERTY(do_cudaStreamGetId, unsigned long long, s->api_id)

/* Measured (probe-odd-peers.txt, "events"): it ends a capture of the stream. */
cudaError_t do_cudaStreamGetDevice(struct call *call, cudaStream_t stream, int *device)
{
    struct stream *s = call_stream(call, stream);
    if (!device || !s)
        return device ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    *device = s->device;
    return s->capturing ? capture_forbid(s) : cudaSuccess;
}

/* The attributes that are hints. */
struct hints {
    struct cudaAccessPolicyWindow window;
    enum cudaSynchronizationPolicy policy;
    cudaLaunchMemSyncDomainMap domains;
    cudaLaunchMemSyncDomain domain;
};
/* An H200 of November 2026 answered -1 for the policy of a new stream, which has no name. */
static const struct hints no_hints = {.policy = (enum cudaSynchronizationPolicy) - 1,
                                      .domains = {.remote = 1}};

static const struct hints *hints_of(const struct stream *s)
{
    return s->hints ? s->hints : &no_hints;
}

static void set_hints(struct stream *s, struct hints hints)
{
    if (!s->hints)
        s->hints = os_allocate(sizeof hints);
    *(struct hints *)s->hints = hints;
}

/* Documented: which attributes a stream has, and the defaults of the memory synchronization
 * domains. An H200 of November 2026 had no NVLink-centric scheduling. Assumed: the other defaults,
 * and that a priority is clamped as by cudaStreamCreateWithPriority. */
cudaError_t do_cudaStreamGetAttribute(struct call *call, cudaStream_t stream,
                                      cudaLaunchAttributeID attribute,
                                      cudaLaunchAttributeValue *value)
{
    line_number(&call->line, "attribute", attribute);
    if (!value)
        return cudaErrorInvalidValue;
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    const struct hints *h = hints_of(s);
    switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow: value->accessPolicyWindow = h->window; break;
    case cudaLaunchAttributeSynchronizationPolicy: value->syncPolicy = h->policy; break;
    case cudaLaunchAttributePriority: value->priority = s->priority; break;
    case cudaLaunchAttributeMemSyncDomainMap: value->memSyncDomainMap = h->domains; break;
    case cudaLaunchAttributeMemSyncDomain: value->memSyncDomain = h->domain; break;
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Documented: hitRatio is from 0 to 1, and a window no larger than the device's attribute says. */
static bool is_window(const struct cudaAccessPolicyWindow *w)
{
    return w->hitRatio >= 0 && w->hitRatio <= 1
        && w->num_bytes <= device_figure(cudaDevAttrMaxAccessPolicyWindowSize);
}

bool launch_may_have(cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value)
{
    switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow: return is_window(&value->accessPolicyWindow);
    case cudaLaunchAttributeSynchronizationPolicy: return false;
    /* Measured (probe-odd-driver.txt): which domains there are. */
    case cudaLaunchAttributeMemSyncDomainMap:
        return value->memSyncDomainMap.default_ <= 3 && value->memSyncDomainMap.remote <= 3;
    case cudaLaunchAttributeMemSyncDomain:
        return value->memSyncDomain <= cudaLaunchMemSyncDomainRemote;
    case cudaLaunchAttributePreferredSharedMemoryCarveout: return value->sharedMemCarveout <= 100;
    default: return attribute <= cudaLaunchAttributeNvlinkUtilCentricScheduling;
    }
}

cudaError_t do_cudaStreamSetAttribute(struct call *call, cudaStream_t stream,
                                      cudaLaunchAttributeID attribute,
                                      const cudaLaunchAttributeValue *value)
{
    line_number(&call->line, "attribute", attribute);
    if (!value)
        return cudaErrorInvalidValue;
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (attribute != cudaLaunchAttributeSynchronizationPolicy && !launch_may_have(attribute, value))
        return cudaErrorInvalidValue;
    struct hints h = *hints_of(s);
    switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow: h.window = value->accessPolicyWindow; break;
    case cudaLaunchAttributeSynchronizationPolicy:
        if (value->syncPolicy < cudaSyncPolicyAuto
            || value->syncPolicy > cudaSyncPolicyBlockingSync)
            return cudaErrorInvalidValue;
        h.policy = value->syncPolicy;
        break;
    case cudaLaunchAttributePriority: s->priority = launch_priority(value->priority); break;
    case cudaLaunchAttributeMemSyncDomainMap: h.domains = value->memSyncDomainMap; break;
    case cudaLaunchAttributeMemSyncDomain: h.domain = value->memSyncDomain; break;
    default: return cudaErrorInvalidValue;
    }
    set_hints(s, h);
    return cudaSuccess;
}

/* Documented: both streams must be of the same context. Assumed: the code where they are not. */
cudaError_t do_cudaStreamCopyAttributes(struct call *call, cudaStream_t to, cudaStream_t from)
{
    struct stream *t = call_stream(call, to), *f = call_stream(call, from);
    if (!t || !f)
        return cudaErrorInvalidResourceHandle;
    if (t->device != f->device)
        return cudaErrorInvalidValue;
    set_hints(t, *hints_of(f));
    t->priority = f->priority;
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t do_cudaEventCreateWithFlags(struct call *call, cudaEvent_t *event, unsigned flags)
{
    unsigned valid_flags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!event || flags & ~valid_flags)
        return cudaErrorInvalidValue;
    /* Documented and measured (probe-answers.txt, "streams and events"): an interprocess event must
     * not record times. */
    if (flags & cudaEventInterprocess && !(flags & cudaEventDisableTiming))
        return cudaErrorInvalidValue;
    struct remote_event *remote = flags & cudaEventInterprocess ? ipc_event_new() : NULL;
    if (flags & cudaEventInterprocess && !remote)
        return cudaErrorMemoryAllocation;
    struct event *v = event_new(device_current(), flags, remote);
    line_number(&call->line, "event", (uint64_t)v->id);
    *event = v->handle;
    return cudaSuccess;
}

cudaError_t do_cudaEventDestroy(struct call *call, cudaEvent_t event)
{
    struct event *v = call_event(call, event);
    if (!v)
        return cudaErrorInvalidResourceHandle;
    event_destroy(v);
    return cudaSuccess;
}

cudaError_t do_cudaEventRecordWithFlags(struct call *call, cudaEvent_t event, cudaStream_t stream,
                                        unsigned int flags)
{
    struct event *v = call_event(call, event);
    if (!v)
        return cudaErrorInvalidResourceHandle;
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = capture_check(s);
    if (e)
        return e;
    if (flags & ~(unsigned)cudaEventRecordExternal)
        return cudaErrorInvalidValue;
    if (is_external_outside(s, flags))
        return cudaErrorIllegalState;
    /* Documented: event and stream must be on the same device. What comes before that is measured
     * (probe-odd-peers.txt, "events"). */
    if (s->device != v->device) {
        failed_call_because("the event is of device %d, where it was created, and the stream of "
                            "device %d",
                            v->device, s->device);
        return cudaErrorInvalidResourceHandle;
    }
    uint64_t before = s->last_seq;
    e = capture_or_record(call, v, s, flags & cudaEventRecordExternal);
    if (line_is_open(&call->line))
        line_turn(call, s, before);
    if (!e && !s->capturing)
        event_waits_add(OP_RECORD, call, s, v);
    return e;
}

cudaError_t do_cudaEventQuery(struct call *call, cudaEvent_t event)
{
    struct event *v = call_event(call, event);
    if (!v)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = capture_forbid_event(v);
    if (e)
        return e;
    if (!event_query(v))
        return cudaErrorNotReady;
    /* The wait may have failed because another process ended before it reached the event. */
    return device_sticky_error;
}

cudaError_t do_cudaEventSynchronize(struct call *call, cudaEvent_t event)
{
    struct event *v = call_event(call, event);
    if (!v)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = capture_forbid_event(v);
    if (e)
        return e;
    if (!event_is_recorded(v))
        return cudaSuccess;
    event_synchronize_unlocking(v, call->origin.call);
    pools_synchronized();
    return device_sticky_error;
}

static cudaError_t check_timed(const struct event *v)
{
    cudaError_t e = v ? capture_event_error(v) : cudaErrorInvalidResourceHandle;
    return !e && (!v->record || v->flags & cudaEventDisableTiming) ? cudaErrorInvalidResourceHandle
                                                                   : e;
}

cudaError_t do_cudaEventElapsedTime(struct call *call, float *ms, cudaEvent_t start,
                                    cudaEvent_t end)
{
    if (!ms)
        return cudaErrorInvalidValue;
    struct event *a = call_event(call, start);
    struct event *b = call_event(call, end);
    /* Measured (probe-odd-peers.txt, "events"): a mistake in the first event is found first. */
    cudaError_t e = check_timed(a);
    if (!e)
        e = check_timed(b);
    if (e)
        return e;
    /* Measured (probe-misuse.txt, "other_gpu"): the events must be on the same device. */
    if (a->device != b->device)
        return cudaErrorInvalidResourceHandle;
    if (!a->record->done || !b->record->done)
        return cudaErrorNotReady;
    /* Documented: until both are reached, the call returns cudaErrorNotReady. So its success tells
     * the host as much as that of a query. */
    host_acquire_record(a->record, ACQUIRES);
    host_acquire_record(b->record, ACQUIRES);
    *ms = (float)(((double)b->record->finish - (double)a->record->finish) / 1e6);
    return cudaSuccess;
}

/* ---- host functions ---- */

cudaError_t do_cudaLaunchHostFunc(struct call *call, cudaStream_t stream, cudaHostFn_t function,
                                  void *data)
{
    if (!function)
        return cudaErrorInvalidValue;
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    return dispatch(call, &(struct task){.kind = TASK_HOST, .function = function, .argument = data},
                    s);
}

/* The older form, a callback, which also gets the stream and its error. */
struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *data;
};

static void run_callback(void *argument)
{
    struct callback c = *(struct callback *)argument;
    os_free(argument);
    c.function(c.stream, device_sticky_error, c.data);
}

cudaError_t do_cudaStreamAddCallback(struct call *call, cudaStream_t stream,
                                     cudaStreamCallback_t callback, void *data, unsigned int flags)
{
    if (!callback || flags)
        return cudaErrorInvalidValue;
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    /* Documented: not supported in a capture. The error is measured (probe-misuse.txt,
     * "callback_relaxed"). */
    cudaError_t e = capture_forbid(s);
    if (e)
        return e;
    struct callback *c = os_allocate(sizeof *c);
    *c = (struct callback){callback, stream, data};
    e = dispatch(call, &(struct task){.kind = TASK_HOST, .function = run_callback, .argument = c},
                 s);
    s->tail->named = (const void *)(uintptr_t)callback;
    return e;
}
