/* The newest calls of cudaEventRecord and cudaStreamWaitEvent. */
#include "check/event_waits.h"

#include "base/handle.h"
#include "check/checker.h"
#include "os/needs_lock.h"

#define NOTED_SIZE 512 /* Assumed: a wait without effect is close to what it should order. */

struct noted {
    bool is_wait;
    /* The call, in the stream that waits or is recorded. Its `seq` is the stream's newest work. */
    struct origin origin;
    /* The stream of the call, because its slot may be reused by now. */
    unsigned long long stream;
    /* The event, whose handle may be reused by now, and for a wait its record, if it had one. */
    void *event;
    int event_id;
    bool was_recorded;
    uint32_t record_slot;
    uint64_t record_seq;
};

/* Needs the lock. Invariant: call number n, counted from 0, is at calls[n % NOTED_SIZE] until call
 * n + NOTED_SIZE overwrites it. */
static struct {
    struct noted calls[NOTED_SIZE];
    uint64_t count;
} noted;

void event_waits_add(enum op_kind kind, const struct call *call, const struct stream *s,
                     const struct event *e)
{
    NEEDS_LOCK();
    const struct record *r = e->record;
    /* Another process may have recorded the event. */
    if (e->remote)
        return;
    noted.calls[noted.count++ % NOTED_SIZE] =
        (struct noted){.is_wait = kind == OP_WAIT,
                       .origin = checker_origin_of(call->origin, s, s->last_seq),
                       .stream = s->api_id,
                       .event = e->handle,
                       .event_id = e->id,
                       .was_recorded = r,
                       .record_slot = r ? r->stream->slot : 0,
                       .record_seq = r ? r->seq : 0};
}

/* Returns call number n - 1, or NULL if it is no longer known. */
static const struct noted *before(uint64_t n)
{
    return n && n + NOTED_SIZE > noted.count ? &noted.calls[(n - 1) % NOTED_SIZE] : NULL;
}

/* For a wait, which is call number n, returns the record that it took, if that replaced a record
 * after `earlier` for which no call had waited. Otherwise returns NULL. */
static const struct noted *find_replacement(uint64_t n, const struct origin *earlier)
{
    const struct noted *w = before(n + 1), *c, *taken = NULL;
    for (; (c = before(n)); n--) {
        if (c->event_id != w->event_id)
            continue;
        if (c->is_wait)
            return NULL;
        if (taken && c->record_slot == earlier->slot && c->record_seq > earlier->seq)
            return taken;
        taken = taken ? taken : c;
    }
    return NULL;
}

static enum event_wait_fault fault_of(const struct noted *w, const struct origin *earlier)
{
    const struct event *e = handle_object(HANDLE_EVENT, w->event);
    const struct record *r = e ? e->record : NULL;
    bool is_behind = r && r->stream->slot == earlier->slot && r->seq > earlier->seq;
    if (!w->was_recorded && is_behind)
        return EVENT_WAIT_BEFORE_RECORD;
    if (!w->was_recorded)
        return r ? EVENT_WAIT_UNKNOWN : EVENT_WAIT_NOT_RECORDED;
    if (w->record_slot != earlier->slot || w->record_seq > earlier->seq || !e)
        return EVENT_WAIT_UNKNOWN;
    return is_behind ? EVENT_WAIT_BEFORE_NEW_RECORD : EVENT_WAIT_RECORD_TOO_EARLY;
}

struct faulty_wait event_waits_find(const struct origin *earlier, const struct origin *later)
{
    const struct stream *s = stream_of_slot(later->slot);
    const struct noted *w;
    for (uint64_t n = noted.count; (w = before(n)); n--) {
        if (!w->is_wait || w->origin.slot != later->slot || w->stream != s->api_id
            || w->origin.seq >= later->seq)
            continue;
        struct faulty_wait found = {fault_of(w, earlier), w->origin.site, {0}};
        const struct noted *taken = find_replacement(n - 1, earlier);
        if (found.fault == EVENT_WAIT_UNKNOWN && taken) {
            found.fault = EVENT_WAIT_RECORDED_AGAIN;
            found.recorded_by = taken->origin;
        }
        if (found.fault != EVENT_WAIT_UNKNOWN)
            return found;
    }
    return (struct faulty_wait){0};
}
