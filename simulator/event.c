/* Events. */
#include "event.h"

#include "handle.h"
#include "host.h"

static int ids;

struct event *event_new(int device, unsigned flags)
{
    struct event *e = host_allocate(sizeof *e);
    e->id = ++ids;
    e->flags = flags;
    e->device = device;
    e->handle = handle_new(HANDLE_EVENT, e);
    return e;
}

void event_destroy(struct event *e)
{
    handle_retire(HANDLE_EVENT, e->handle);
    if (e->record) record_release(e->record);
    host_free(e->captured);
    host_free(e);
}

void event_record(struct event *e, struct stream *s)
{
    if (e->record) record_release(e->record);
    host_free(e->captured);
    e->captured = NULL;
    e->record = stream_record(s);
}
