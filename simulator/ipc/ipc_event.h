/* An event of several processes: a page in a file in memory says how often it was recorded and
 * which records have been reached.
 *
 * Each record takes a ticket, whichever process makes it. A wait is for the newest ticket at the
 * call (documented: later records do not matter to it). With the newest ticket the page keeps what
 * its recorder knew to come before, so that order crosses the border as well.
 *
 * When the process that took a ticket ends before that place was reached, the wait for it ends too,
 * and every further call of the waiting process returns cudaErrorExternalDevice (chosen: "an
 * asynchronous error outside of CUDA"; a wait that never ends would help nobody). */
#ifndef SIM_IPC_IPC_EVENT_H
#define SIM_IPC_IPC_EVENT_H

#include "sched/event.h"

struct ipc_event;

#define IPC_EVENT_MAGIC 0x31746e6576656973u

/* What another process needs to open the page; fits into a cudaIpcEventHandle_t. */
struct ipc_event_address {
    uint64_t magic, id, process;
    int32_t fd, device;
};

/* A page for an event of this device; NULL, with a sentence, when there is no file for it. */
struct ipc_event *ipc_event_new(int device);
/* Opens one; NULL when it is no longer there. */
struct ipc_event *ipc_event_open(const struct ipc_event_address *address);
/* Is it another process's? */
bool ipc_event_is_opened(const struct ipc_event *event);
struct ipc_event_address ipc_event_address_of(const struct ipc_event *event);
/* The same event as sched/event.h knows it, and back. */
struct remote_event *ipc_event_remote(struct ipc_event *event);
struct ipc_event *ipc_event_of(struct remote_event *remote);

#endif
