/* What cudaStreamWaitEvent found when it was called. */
#include "check/event_waits.h"

#include "base/handle.h"
#include "os/needs_lock.h"

#define WAITS_SIZE 256 /* Assumed: a wait without effect is close to what it should order. */

struct noted_wait {
    /* The waiting stream, whose slot may be reused by now, and its newest work at the call. */
    uint32_t slot;
    unsigned long long stream;
    uint64_t seq;
    void *event, *site;
    /* The state of the event. */
    bool was_recorded;
    uint32_t record_slot;
    uint64_t record_seq;
};

/* Needs the lock. Invariant: wait number n, counted from 0, is at waits[n % WAITS_SIZE] until wait
 * n + WAITS_SIZE overwrites it. */
static struct {
    struct noted_wait waits[WAITS_SIZE];
    uint64_t count;
} noted;

void event_waits_add(const struct call *call, const struct stream *s, const struct event *e)
{
    NEEDS_LOCK();
    const struct record *r = e->record;
    /* Another process may have recorded the event. */
    if (e->remote)
        return;
    noted.waits[noted.count++ % WAITS_SIZE] =
        (struct noted_wait){.slot = s->slot,
                            .stream = s->api_id,
                            .seq = s->last_seq,
                            .event = e->handle,
                            .site = call->origin.site,
                            .was_recorded = r,
                            .record_slot = r ? r->stream->slot : 0,
                            .record_seq = r ? r->seq : 0};
}

static enum event_wait_fault fault_of(const struct noted_wait *w, const struct origin *earlier)
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

enum event_wait_fault event_waits_find(const struct origin *earlier, const struct origin *later,
                                       void **site)
{
    const struct stream *s = stream_of_slot(later->slot);
    for (uint64_t n = noted.count; n && n + WAITS_SIZE > noted.count; n--) {
        const struct noted_wait *w = &noted.waits[(n - 1) % WAITS_SIZE];
        enum event_wait_fault fault = EVENT_WAIT_UNKNOWN;
        if (w->slot == later->slot && w->stream == s->api_id && w->seq < later->seq)
            fault = fault_of(w, earlier);
        *site = w->site;
        if (fault != EVENT_WAIT_UNKNOWN)
            return fault;
    }
    return EVENT_WAIT_UNKNOWN;
}
