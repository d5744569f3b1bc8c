/* What cudaEventRecord and cudaStreamWaitEvent did. With it, a report explains why a wait in the
 * program does not order what it seems to order. All of these need the lock. */
#ifndef SIM_CHECK_EVENT_WAITS_H
#define SIM_CHECK_EVENT_WAITS_H

#include "base/origin.h"
#include "sched/event.h"

enum event_wait_fault {
    /* No such wait is known. */
    EVENT_WAIT_UNKNOWN,
    /* The event had not been recorded when the stream waited for it, and either never was, or was
     * later, after the earlier operation. */
    EVENT_WAIT_NOT_RECORDED,
    EVENT_WAIT_BEFORE_RECORD,
    /* The event had been recorded before the earlier operation, and either never was again, or was
     * after the wait. */
    EVENT_WAIT_RECORD_TOO_EARLY,
    EVENT_WAIT_BEFORE_NEW_RECORD,
    /* A record after the earlier operation was replaced by one of another stream, and nothing had
     * waited for it. */
    EVENT_WAIT_RECORDED_AGAIN
};

struct faulty_wait {
    enum event_wait_fault fault;
    void *site;
    /* For EVENT_WAIT_RECORDED_AGAIN: the call whose record the wait took. */
    struct origin recorded_by;
};

/* Called when a call records the event in the stream (OP_RECORD), or makes the stream wait for it
 * (OP_WAIT), and the stream is not captured. */
void event_waits_add(enum op_kind kind, const struct call *call, const struct stream *s,
                     const struct event *e);
/* Finds the newest wait in the stream of `later`, before `later`, that could be meant to order it
 * after `earlier`. */
struct faulty_wait event_waits_find(const struct origin *earlier, const struct origin *later);

#endif
