/* Events. */
#include "sched/event.h"

#include "base/handle.h"
#include "os/os.h"
#include "sched/engine.h"

static int ids;

struct event *event_new(int device, unsigned flags, struct event_page *page)
{
    struct event *e = host_allocate(sizeof *e);
    e->id = ++ids;
    e->flags = flags;
    e->device = device;
    e->page = page;
    e->handle = handle_new(HANDLE_EVENT, e);
    return e;
}

void event_destroy(struct event *e)
{
    handle_retire(HANDLE_EVENT, e->handle);
    if (e->record) record_release(e->record);
    if (e->page) event_page_release(e->page);
    host_free(e->captured);
    host_free(e);
}

void event_record(struct event *e, struct stream *s)
{
    if (e->record) record_release(e->record);
    host_free(e->captured);
    e->captured = NULL;
    e->record = stream_record(s);
    if (e->page) event_page_record(e->page, s->tail);
}

/* Has another process recorded it last? */
static bool is_abroad(const struct event *e) { return e->page && event_page_is_ahead(e->page, e->record); }

bool event_is_recorded(const struct event *e) { return e->record || is_abroad(e); }

void event_wait(struct event *e, struct stream *s)
{
    if (is_abroad(e)) event_page_wait(e->page, s);
    else if (e->record) stream_wait(s, e->record);
}

bool event_query(struct event *e)
{
    if (is_abroad(e)) return event_page_query(e->page);
    if (e->record && !e->record->done) return false;
    if (e->record) record_host_knows(e->record, false);
    return true;
}

void event_synchronize(struct event *e, const char *who)
{
    if (is_abroad(e)) event_page_synchronize(e->page);
    else if (e->record) {
        struct record *r = e->record;
        r->users++;                    /* another thread may record the event anew, or destroy it, meanwhile */
        timeline_wait(r->stream, r->number, who);
        record_host_knows(r, true);
        record_release(r);
    }
}
