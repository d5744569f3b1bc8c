/* An event of several processes: a file in memory that each maps holds its newest record: which
 * process made it, where in which of its streams, and what comes before it. A wait is for the
 * newest record at the call (documented: later records do not matter to it), and ends when the
 * clock of that process (ipc/process_clock.h) has come there; so any number of records may be
 * pending. With the record travels its vector clock, so that order crosses processes as well.
 *
 * When the process ends before its record was reached, the wait for it ends too, and every further
 * call of the waiting process returns cudaErrorExternalDevice (assumed: "an asynchronous error
 * outside of CUDA"; a wait that never ends would help nobody). So it does when that process's
 * device fails (assumed).
 *
 * All of these need the lock. An event lives until the remote_event's last release (sched/event.h);
 * operations that wait for it are users, too. */
#ifndef SIM_IPC_IPC_EVENT_H
#define SIM_IPC_IPC_EVENT_H

#include "sched/event.h"

struct ipc_event;

#define IPC_EVENT_MAGIC 0x32746e6576656973u

/* What another process needs to open the event; fits into a cudaIpcEventHandle_t. */
struct ipc_event_address {
    uint64_t magic, id, process;
    int32_t fd, device;
};

/* Returns a new event for this device; NULL, with a sentence, when there is no file for it. */
struct ipc_event *ipc_event_new(int device);
/* Opens another process's event. Returns NULL when it is no longer there. */
struct ipc_event *ipc_event_open(const struct ipc_event_address *address);
/* Returns whether it is another process's. */
bool ipc_event_is_opened(const struct ipc_event *event);
struct ipc_event_address ipc_event_address_of(const struct ipc_event *event);
/* The same event as sched/event.h has it, and back. */
struct remote_event *ipc_event_remote(struct ipc_event *event);
struct ipc_event *ipc_event_of(struct remote_event *remote);

#endif
