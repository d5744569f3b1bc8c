/* The API's skin: streams, events, host functions. Each call exists twice: `_ptsz` is what a
 * program compiled with per-thread default streams calls. */
#include "api/export.h"

#include "api/call.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "sched/event.h"
#include "base/handle.h"
#include "os/os.h"
#include "base/journal.h"
#include "mem/pool.h"
#include "base/settings.h"
#include "sched/engine.h"
#include "run/dispatch.h"

/* ---- making and unmaking ---- */

static cudaError_t create_stream(const char *name, cudaStream_t *stream, unsigned flags,
                                 int priority)
{
    cudaError_t e = call_begin(name, COST_STREAM_CREATE);
    if (!e && (!stream || flags & ~(unsigned)cudaStreamNonBlocking))
        e = cudaErrorInvalidValue;
    if (!e) {
        /* Measured: -99 becomes -5. */
        int clamped = priority > 0 ? 0 : priority < -5 ? -5 : priority;
        struct stream *s =
            stream_new(flags & cudaStreamNonBlocking ? STREAM_NON_BLOCKING : STREAM_BLOCKING,
                       device_current(), clamped);
        journal_number("stream", (uint64_t)s->id);
        journal_text("kind", flags & cudaStreamNonBlocking ? "non-blocking" : "blocking");
        *stream = s->handle;
    }
    return call_end(e);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return AT(create_stream("cudaStreamCreate", stream, cudaStreamDefault, 0));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return AT(create_stream("cudaStreamCreateWithFlags", stream, flags, 0));
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    return AT(create_stream("cudaStreamCreateWithPriority", stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t e = CALL("cudaStreamDestroy", COST_STREAM_DESTROY);
    /* Measured. */
    if (!e && (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread))
        e = cudaErrorInvalidResourceHandle;
    if (!e) {
        struct stream *s = call_stream(stream, false);
        capture_stream_destroyed(s);
        pools_stream_destroyed(s);
        stream_destroy(s);
    }
    return call_end(e);
}

/* ---- waiting and asking ---- */

/* Waiting or asking for the legacy stream is for the blocking streams, too. It puts nothing into
 * the legacy stream, so it orders nothing on the device. */
static struct stream *next_covered(struct stream *requested, struct stream *after)
{
    if (requested->kind != STREAM_LEGACY)
        return after ? NULL : requested;
    struct stream *s = after ? after->next : stream_first();
    while (s && (s->device != requested->device || !stream_is_blocking(s)))
        s = s->next;
    return s;
}

static cudaError_t synchronize_stream(cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamSynchronize", COST_SYNCHRONIZE);
    if (!e) {
        struct stream *s = call_stream(stream, per_thread);
        if ((e = capture_forbid_wait(s)))
            return call_end(e);
        if (s->memory_seq && s->memory_seq == s->last_seq && s->synchronized_seq < s->last_seq)
            time_charge(COST_SYNC_FREE);
        for (struct stream *each = NULL; (each = next_covered(s, each));)
            engine_finish(each, true, call_name());
        pools_synchronized();
        e = device_sticky_error();
    }
    return call_end(e);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return AT(synchronize_stream(stream, false));
}
EXPORT cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream)
{
    return AT(synchronize_stream(stream, true));
}

/* What asking costs; a device that is a second late shall not be asked a million times. */
static time_ns query_cost(time_ns cost)
{
    return settings.schedule == SCHEDULE_LATE ? 1000000 : cost;
}

static cudaError_t query_stream(cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamQuery", query_cost(COST_QUERY));
    if (!e) {
        struct stream *s = call_stream(stream, per_thread);
        if ((e = capture_forbid_wait(s)))
            return call_end(e);
        for (struct stream *each = NULL; (each = next_covered(s, each));)
            if (each->done_seq < each->last_seq)
                e = cudaErrorNotReady;
        for (struct stream *each = NULL; !e && (each = next_covered(s, each));)
            host_acquire_stream(each, each->last_seq, false);
    }
    return call_end(e);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return AT(query_stream(stream, false)); }
EXPORT cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream)
{
    return AT(query_stream(stream, true));
}

/* The event of a handle; NULL is refused (measured), a handle that is no event ends the process
 * with a sentence. */
static struct event *event_of(cudaEvent_t handle)
{
    struct event *e = handle ? handle_object(HANDLE_EVENT, handle) : NULL;
    if (e)
        journal_number("event", (uint64_t)e->id);
    else if (handle)
        call_bad_handle("an event", HANDLE_EVENT, handle, "cudaEventDestroy", "cudaEventCreate");
    return e;
}

static cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags,
                              bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamWaitEvent", COST_WAIT_EVENT);
    if (!e && flags & ~(unsigned)cudaEventWaitExternal)
        e = cudaErrorInvalidValue;
    if (!e) {
        struct stream *s = call_stream(stream, per_thread);
        struct event *v = event_of(event);
        if (!v)
            e = cudaErrorInvalidResourceHandle;
        /* Measured: an event that was never recorded makes nothing wait. */
        else
            e = capture_or_wait(s, v, flags & cudaEventWaitExternal);
    }
    return call_end(e);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    return AT(wait_event(stream, event, flags, false));
}
EXPORT cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event,
                                            unsigned int flags)
{
    return AT(wait_event(stream, event, flags, true));
}

/* ---- what a stream is ---- */

static cudaError_t get_flags(cudaStream_t stream, unsigned *flags, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamGetFlags", COST_SMALL);
    if (!e && !flags)
        e = cudaErrorInvalidValue;
    if (!e)
        *flags = call_stream(stream, per_thread)->kind == STREAM_NON_BLOCKING
                   ? cudaStreamNonBlocking
                   : cudaStreamDefault;
    return call_end(e);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
    return AT(get_flags(stream, flags, false));
}
EXPORT cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned int *flags)
{
    return AT(get_flags(stream, flags, true));
}

static cudaError_t get_priority(cudaStream_t stream, int *priority, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamGetPriority", COST_SMALL);
    if (!e && !priority)
        e = cudaErrorInvalidValue;
    if (!e)
        *priority = call_stream(stream, per_thread)->priority;
    return call_end(e);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    return AT(get_priority(stream, priority, false));
}
EXPORT cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int *priority)
{
    return AT(get_priority(stream, priority, true));
}

static cudaError_t get_id(cudaStream_t stream, unsigned long long *id, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamGetId", COST_SMALL);
    if (!e && !id)
        e = cudaErrorInvalidValue;
    if (!e)
        *id = call_stream(stream, per_thread)->api_id;
    return call_end(e);
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    return AT(get_id(stream, id, false));
}
EXPORT cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long *id)
{
    return AT(get_id(stream, id, true));
}

static cudaError_t get_device(cudaStream_t stream, int *device, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamGetDevice", COST_SMALL);
    if (!e && !device)
        e = cudaErrorInvalidValue;
    if (!e)
        *device = call_stream(stream, per_thread)->device;
    return call_end(e);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    return AT(get_device(stream, device, false));
}
EXPORT cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int *device)
{
    return AT(get_device(stream, device, true));
}

/* ---- events ---- */

static cudaError_t create_event(const char *name, cudaEvent_t *event, unsigned flags)
{
    cudaError_t e = call_begin(name, COST_EVENT_CREATE);
    unsigned valid_flags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    /* documented and measured: an interprocess event must not time */
    if (!e
        && (!event || flags & ~valid_flags
            || (flags & cudaEventInterprocess && !(flags & cudaEventDisableTiming))))
        e = cudaErrorInvalidValue;
    if (!e) {
        struct ipc_event *ipc =
            flags & cudaEventInterprocess ? ipc_event_new(device_current()) : NULL;
        if (flags & cudaEventInterprocess && !ipc)
            return call_end(cudaErrorMemoryAllocation);
        struct event *v = event_new(device_current(), flags, ipc);
        journal_number("event", (uint64_t)v->id);
        *event = v->handle;
    }
    return call_end(e);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return AT(create_event("cudaEventCreate", event, cudaEventDefault));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return AT(create_event("cudaEventCreateWithFlags", event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t e = CALL("cudaEventDestroy", COST_EVENT_DESTROY);
    struct event *v = e ? NULL : event_of(event);
    if (!e && !v)
        e = cudaErrorInvalidResourceHandle;
    if (!e)
        event_destroy(v);
    return call_end(e);
}

static cudaError_t record_event(const char *name, cudaEvent_t event, cudaStream_t stream,
                                unsigned flags, bool per_thread)
{
    cudaError_t e = call_begin(name, COST_EVENT_RECORD);
    if (!e && flags & ~(unsigned)cudaEventRecordExternal)
        e = cudaErrorInvalidValue;
    struct event *v = e ? NULL : event_of(event);
    if (!e && !v)
        e = cudaErrorInvalidResourceHandle;
    if (!e) {
        struct stream *s = call_stream(stream, per_thread);
        /* Documented: event and stream must be of one device. */
        if (s->device != v->device)
            e = cudaErrorInvalidResourceHandle;
        else
            e = capture_or_record(v, s, flags & cudaEventRecordExternal);
    }
    return call_end(e);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return AT(record_event("cudaEventRecord", event, stream, 0, false));
}
EXPORT cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
    return AT(record_event("cudaEventRecord", event, stream, 0, true));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    return AT(record_event("cudaEventRecordWithFlags", event, stream, flags, false));
}
EXPORT cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
                                                 unsigned int flags)
{
    return AT(record_event("cudaEventRecordWithFlags", event, stream, flags, true));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t e = CALL("cudaEventQuery", query_cost(COST_QUERY));
    struct event *v = e ? NULL : event_of(event);
    if (!e && !v)
        e = cudaErrorInvalidResourceHandle;
    if (!e)
        e = capture_forbid_event(v);
    if (!e && !event_query(v))
        e = cudaErrorNotReady;
    if (!e)
        e = device_sticky_error(); /* another process may have ended without reaching it */
    return call_end(e);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t e = CALL("cudaEventSynchronize", COST_SYNCHRONIZE);
    struct event *v = e ? NULL : event_of(event);
    if (!e && !v)
        e = cudaErrorInvalidResourceHandle;
    if (!e)
        e = capture_forbid_event(v);
    if (!e && event_is_recorded(v)) {
        event_synchronize(v, call_name());
        pools_synchronized();
        e = device_sticky_error();
    }
    return call_end(e);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t e = CALL("cudaEventElapsedTime", query_cost(COST_SMALL));
    if (!e && !ms)
        e = cudaErrorInvalidValue;
    struct event *a = e ? NULL : event_of(start), *b = e ? NULL : event_of(end);
    if (!e && a)
        e = capture_event_error(a);
    if (!e && b)
        e = capture_event_error(b);
    if (!e
        && (!a || !b || !a->record || !b->record || (a->flags | b->flags) & cudaEventDisableTiming))
        e = cudaErrorInvalidResourceHandle;
    if (!e && a->device != b->device)
        e = cudaErrorInvalidResourceHandle; /* measured */
    if (!e && (!a->record->done || !b->record->done))
        e = cudaErrorNotReady;
    if (!e) {
        /* documented: until both are reached it answers cudaErrorNotReady, so success says as much
         * as that of a query */
        host_acquire_record(a->record, false);
        host_acquire_record(b->record, false);
        *ms = (float)(((double)b->record->finish - (double)a->record->finish) / 1e6);
    }
    return call_end(e);
}

/* ---- host functions ---- */

static cudaError_t host_function(cudaStream_t stream, cudaHostFn_t function, void *data,
                                 bool per_thread)
{
    cudaError_t e = call_begin("cudaLaunchHostFunc", COST_HOST_FUNCTION);
    if (!e && !function)
        e = cudaErrorInvalidValue;
    if (!e)
        e = dispatch_host_function(function, data, call_stream(stream, per_thread));
    return call_end(e);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return AT(host_function(stream, function, data, false));
}
EXPORT cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return AT(host_function(stream, function, data, true));
}

/* The older form: a callback gets the stream and its error, too. */
struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *data;
};

static void run_callback(void *argument)
{
    struct callback c = *(struct callback *)argument;
    os_free(argument);
    c.function(c.stream, device_sticky_error(), c.data);
}

static cudaError_t add_callback(cudaStream_t stream, cudaStreamCallback_t function, void *data,
                                unsigned flags, bool per_thread)
{
    cudaError_t e = call_begin("cudaStreamAddCallback", COST_HOST_FUNCTION);
    if (!e && (!function || flags))
        e = cudaErrorInvalidValue;
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    /* Documented: not supported with a capture; measured: the code. */
    if (!e)
        e = capture_forbid(s);
    if (!e) {
        struct callback *c = os_allocate(sizeof *c);
        *c = (struct callback){function, stream, data};
        e = dispatch_host_function(run_callback, c, s);
    }
    return call_end(e);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                  unsigned int flags)
{
    return AT(add_callback(stream, callback, data, flags, false));
}
EXPORT cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback,
                                              void *data, unsigned int flags)
{
    return AT(add_callback(stream, callback, data, flags, true));
}
