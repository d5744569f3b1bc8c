/* Events: a handle that holds the last record. */
#ifndef SIM_SCHED_EVENT_H
#define SIM_SCHED_EVENT_H

#include "sched/stream.h"

struct event_capture;
struct remote_event;

/* What an event that other processes share does besides (ipc/ipc_event.h). */
struct remote_event_calls {
    void (*release)(struct remote_event *event);
    /* `op`, which has just been queued, records the event. */
    void (*record)(struct remote_event *event, struct op *op);
    /* Is the newest record one that `r` (NULL: none) does not stand for? */
    bool (*is_newer)(const struct remote_event *event, const struct record *r);
    /* For that newest record: a stream waits; the host queries; the host waits. */
    void (*wait)(struct remote_event *event, struct stream *s);
    bool (*query)(struct remote_event *event);
    void (*synchronize)(struct remote_event *event);
};

/* Begins a struct ipc_event. */
struct remote_event {
    const struct remote_event_calls *calls;
};

struct event {
    int id; /* the journal's */
    unsigned flags;
    int device;
    void *handle;
    struct record *record;       /* NULL: never recorded */
    struct remote_event *remote; /* of several processes; else NULL */
    /* Last recorded in a stream that was captured: its place in the graph; else NULL. */
    struct event_capture *captured;
};

struct event *event_new(int device, unsigned flags, struct remote_event *remote);
void event_destroy(struct event *e);
/* The event's place is now the end of the stream; an older place is forgotten, but waits for it
 * stay. */
void event_record(struct event *e, struct stream *s);
/* Was it ever recorded, by any process? */
bool event_is_recorded(const struct event *e);
/* The stream waits for the last record; an event that was never recorded makes nothing wait
 * (measured). */
void event_wait(struct event *e, struct stream *s);
/* Has the last record been reached? If so the host knows it from now on. */
bool event_query(struct event *e);
/* The host waits for the last record; `who`: the call. */
void event_synchronize(struct event *e, const char *call);

#endif
