/* What cudaStreamWaitEvent found when it was called. With it, a report explains why a wait in the
 * program does not order what it seems to order. All of these need the lock. */
#ifndef SIM_CHECK_EVENT_WAITS_H
#define SIM_CHECK_EVENT_WAITS_H

#include "base/origin.h"
#include "sched/event.h"

enum event_wait_fault {
    /* No such wait is known. */
    EVENT_WAIT_UNKNOWN,
    /* The event had not been recorded. Second case: it was, later, after the earlier operation. */
    EVENT_WAIT_NOT_RECORDED,
    EVENT_WAIT_BEFORE_RECORD,
    /* It had been recorded, but too early. Second case: it was again, after the operation. */
    EVENT_WAIT_RECORD_TOO_EARLY,
    EVENT_WAIT_BEFORE_NEW_RECORD
};

/* Called when a call makes the stream, which is not captured, wait for the event. */
void event_waits_add(const struct call *call, const struct stream *s, const struct event *e);
/* Finds the newest wait in the stream of `later`, before `later`, that could be meant to order it
 * after `earlier`. Returns what is wrong with the wait, and its site. */
enum event_wait_fault event_waits_find(const struct origin *earlier, const struct origin *later,
                                       void **site);

#endif
