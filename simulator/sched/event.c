/* Events: what they do with their last record, or pass on to an interprocess event. */
#include "sched/event.h"

#include "base/handle.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/engine.h"
#include "sched/happens_before.h"

/* Needs the lock. */
static struct {
    /* The number of the newest event. The first has number 1. */
    int last_id;
} events;

int event_newest(void)
{
    NEEDS_LOCK();
    return events.last_id;
}

struct event *event_new(int device, unsigned flags, struct remote_event *remote)
{
    NEEDS_LOCK();
    struct event *e = os_allocate(sizeof *e);
    e->id = ++events.last_id;
    e->flags = flags;
    e->device = device;
    e->remote = remote;
    e->handle = handle_new(HANDLE_EVENT, e);
    return e;
}

void event_destroy(struct event *e)
{
    NEEDS_LOCK();
    handle_retire(HANDLE_EVENT, e->handle);
    if (e->record)
        record_release(e->record);
    if (e->remote)
        e->remote->calls->release(e->remote);
    os_free(e->captured);
    os_free(e);
}

void event_record(struct event *e, struct stream *s)
{
    NEEDS_LOCK();
    if (e->record)
        record_release(e->record);
    os_free(e->captured);
    e->captured = NULL;
    e->record = stream_record(s);
    if (e->remote)
        e->remote->calls->record(e->remote, s->tail);
}

/* Returns whether another process made the last record. */
static bool is_recorded_remotely(const struct event *e)
{
    return e->remote && e->remote->calls->is_newer(e->remote, e->record);
}

bool event_is_recorded(const struct event *e)
{
    NEEDS_LOCK();
    return e->record || is_recorded_remotely(e);
}

void event_wait(struct event *e, struct stream *s)
{
    NEEDS_LOCK();
    if (is_recorded_remotely(e))
        e->remote->calls->wait(e->remote, s);
    else if (e->record) {
        if (e->record->stream->place)
            stream_place(s);
        stream_wait(s, e->record);
    }
}

bool event_query(struct event *e)
{
    NEEDS_LOCK();
    if (is_recorded_remotely(e))
        return e->remote->calls->query(e->remote);
    if (e->record && !e->record->done)
        return false;
    if (e->record)
        host_acquire_record(e->record, ACQUIRES);
    return true;
}

void event_synchronize_unlocking(struct event *e, const char *call)
{
    NEEDS_LOCK();
    struct record *r = e->record;
    if (is_recorded_remotely(e)) {
        e->remote->calls->synchronize_unlocking(e->remote);
        return;
    }
    if (!r)
        return;
    /* Another thread may record or destroy the event meanwhile. */
    r->users++;
    engine_wait_unlocking(r->stream, r->seq, call);
    host_acquire_record(r, SYNCHRONIZES);
    record_release(r);
}
