/* What cudaStreamWaitEvent found when it was called. A report says with it why a wait that stands
 * in the program does not order what it seems to order. All of these need the lock. */
#ifndef SIM_CHECK_EVENT_WAITS_H
#define SIM_CHECK_EVENT_WAITS_H

#include "base/origin.h"
#include "sched/event.h"

enum event_wait_fault {
    /* No such wait is remembered. */
    EVENT_WAIT_UNKNOWN,
    /* The event had not been recorded. Was it recorded later, behind the earlier operation? */
    EVENT_WAIT_NOT_RECORDED,
    EVENT_WAIT_BEFORE_RECORD,
    /* It had been recorded, but before the earlier operation. Was it recorded again, behind that?
     */
    EVENT_WAIT_RECORD_TOO_EARLY,
    EVENT_WAIT_BEFORE_NEW_RECORD
};

/* The call makes the stream, which is not captured, wait for the event. */
void event_waits_add(const struct call *call, const struct stream *s, const struct event *e);
/* Finds the newest wait that stands before `later`, in its stream, and could have been meant to
 * order it after `earlier`. Returns what is wrong with it, and where it stands. */
enum event_wait_fault event_waits_find(const struct origin *earlier, const struct origin *later,
                                       void **site);

#endif
