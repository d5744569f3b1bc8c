/* Events: a handle that holds the last record. */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "stream.h"

struct captured;

struct event {
    int            id;                 /* the journal's */
    unsigned       flags;
    int            device;
    void          *handle;
    struct record *record;             /* NULL: never recorded */
    struct captured *captured;         /* last recorded in a stream that was captured: its place in the graph; else NULL */
};

struct event *event_new(int device, unsigned flags);
void event_destroy(struct event *e);
/* The event's place is now the end of the stream; an older place is forgotten, but waits for it stay. */
void event_record(struct event *e, struct stream *s);

#endif
