/* Events: handles that hold the last record. All functions here need the lock. */
#ifndef SIM_SCHED_EVENT_H
#define SIM_SCHED_EVENT_H

#include "sched/stream.h"

struct event_capture;
struct remote_event;

/* What an interprocess event does in addition (ipc/ipc_event.h). */
struct remote_event_calls {
    /* Called when the event is destroyed. Frees the remote event when no op needs it any more. */
    void (*release)(struct remote_event *event);
    /* Called when `op`, which has just been queued, records the event. */
    void (*record)(struct remote_event *event, struct op *op);
    /* Returns whether the newest record is not `r` (NULL: none) but another process's. */
    bool (*is_newer)(const struct remote_event *event, const struct record *r);
    /* For another process's newest record: a stream waits, the host queries, and the host waits. */
    void (*wait)(struct remote_event *event, struct stream *s);
    bool (*query)(struct remote_event *event);
    void (*synchronize_unlocking)(struct remote_event *event);
};

/* The beginning of a struct ipc_event. */
struct remote_event {
    const struct remote_event_calls *calls;
};

struct event {
    /* The event's number in the journal. */
    int id;
    /* The flags of cudaEventCreateWithFlags. */
    unsigned flags;
    int device;
    void *handle;
    /* NULL if the event was never recorded. */
    struct record *record;
    /* The interprocess part, which the event owns; NULL if the event is not interprocess. */
    struct remote_event *remote;
    /* The event's position in a graph, which the event owns, if it was last recorded in a captured
     * stream; otherwise NULL. */
    struct event_capture *captured;
};

int event_newest(void);
/* Returns an event with a handle, which the caller owns until event_destroy. */
struct event *event_new(int device, unsigned flags, struct remote_event *remote);
/* Frees the event. Waits for its last record continue. */
void event_destroy(struct event *e);
/* Records the event at the end of the stream, and forgets the previous record, except in its
 * waits. */
void event_record(struct event *e, struct stream *s);
/* Returns whether any process has recorded the event. */
bool event_is_recorded(const struct event *e);
/* Makes the stream wait for the last record. If the event was never recorded, it waits for nothing
 * (measured: probe-ipc.txt, "event"). */
void event_wait(struct event *e, struct stream *s);
/* Returns whether the last record has been reached. If so, the host acquires it. */
bool event_query(struct event *e);
/* Makes the host wait for the last record and acquire it. */
void event_synchronize_unlocking(struct event *e, const char *call);

#endif
