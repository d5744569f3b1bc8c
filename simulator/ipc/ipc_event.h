/* An event of several processes: a page in a file in memory says how often it was recorded and which records have been reached.
 *
 * Each record takes a ticket, whichever process makes it. A wait is for the newest ticket at the call (documented: later records do not matter to
 * it). With the newest ticket the page keeps what its recorder knew to come before, so that order crosses the border as well.
 *
 * When the process that took a ticket ends before that place was reached, the wait for it ends too, and every further call of the waiting process
 * returns cudaErrorExternalDevice (chosen: "an asynchronous error outside of CUDA"; a wait that never ends would help nobody). */
#ifndef SIM_IPC_IPC_EVENT_H
#define SIM_IPC_IPC_EVENT_H

#include "sched/stream.h"

struct event_page;

#define EVENT_PAGE_MAGIC 0x31746e6576656973u

/* What another process needs to open the page; fits into a cudaIpcEventHandle_t. */
struct event_address { uint64_t magic, id, process; int32_t number, device; };

/* A page for an event of this device; NULL, with a sentence, when there is no file for it. */
struct event_page *event_page_new(int device);
/* Opens one; NULL when it is no longer there. */
struct event_page *event_page_open(const struct event_address *address);
/* Is it another process's? */
bool event_page_is_opened(const struct event_page *p);
struct event_address event_page_address(const struct event_page *p);
/* One user less; waits on their way are users, too. */
void event_page_release(struct event_page *p);

/* `op`, which has just been queued, records the event. */
void event_page_record(struct event_page *p, struct op *op);
/* Is the newest record one that `r` (NULL: none) does not stand for? Then the functions below are right, else r is as good. */
bool event_page_is_ahead(const struct event_page *p, const struct record *r);
/* Makes a stream wait for the newest record. */
void event_page_wait(struct event_page *p, struct stream *s);
/* Has the newest record been reached? If so the host learns it. */
bool event_page_query(struct event_page *p);
void event_page_synchronize(struct event_page *p);

#endif
