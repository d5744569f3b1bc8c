/* Events: a handle that holds the last record. All of these need the lock. */
#ifndef SIM_SCHED_EVENT_H
#define SIM_SCHED_EVENT_H

#include "sched/stream.h"

struct event_capture;
struct remote_event;

/* What an event that several processes share does besides (ipc/ipc_event.h). */
struct remote_event_calls {
    /* The event is destroyed: frees the remote event when no op needs it any more. */
    void (*release)(struct remote_event *event);
    /* `op`, which has just been queued, records the event. */
    void (*record)(struct remote_event *event, struct op *op);
    /* Is the newest record one that `r` (NULL: none) does not stand for? */
    bool (*is_newer)(const struct remote_event *event, const struct record *r);
    /* For that newest record: a stream waits; the host queries; the host waits. */
    void (*wait)(struct remote_event *event, struct stream *s);
    bool (*query)(struct remote_event *event);
    void (*synchronize_unlocking)(struct remote_event *event);
};

/* What a struct ipc_event begins with. */
struct remote_event {
    const struct remote_event_calls *calls;
};

struct event {
    /* The number that the journal has for it. */
    int id;
    /* As cudaEventCreateWithFlags got them. */
    unsigned flags;
    int device;
    void *handle;
    /* NULL: never recorded. */
    struct record *record;
    /* Of several processes; else NULL. The event owns it. */
    struct remote_event *remote;
    /* Last recorded in a stream that was captured: its position in the graph; else NULL. The event
     * owns it. */
    struct event_capture *captured;
};

/* Returns an event with a handle, which the caller owns until event_destroy. */
struct event *event_new(int device, unsigned flags, struct remote_event *remote);
/* Frees the event. Waits for its last record stay. */
void event_destroy(struct event *e);
/* Records the event at the end of the stream. An older record is forgotten, but waits for it
 * stay. */
void event_record(struct event *e, struct stream *s);
/* Was it ever recorded, by any process? */
bool event_is_recorded(const struct event *e);
/* The stream waits for the last record; an event that was never recorded makes nothing wait
 * (measured: probe-ipc.txt, "event"). */
void event_wait(struct event *e, struct stream *s);
/* Has the last record been reached? If so the host acquires it. */
bool event_query(struct event *e);
/* The host waits for the last record, and acquires it. */
void event_synchronize_unlocking(struct event *e, const char *call);

#endif
