/* An interprocess event: a file in memory, mapped by each process, that holds the newest record:
 * its process, its position in a stream of that process, and its vector clock. So order crosses
 * processes with the record. A wait is for the newest record at the call (documented: later records
 * do not matter to it). The wait ends when the clock of the recording process (ipc/process_clock.h)
 * has reached the record, so any number of records may be pending.
 *
 * If the recording process ends or its device fails before that, the wait ends too, and every
 * further call of the waiting process returns cudaErrorExternalDevice (assumed: "an asynchronous
 * error outside of CUDA"; a wait that never ends would help no one).
 *
 * An event lives until the last release of the remote_event (sched/event.h). Operations that wait
 * for the event count as users, too. All functions here need the lock. */
#ifndef SIM_IPC_IPC_EVENT_H
#define SIM_IPC_IPC_EVENT_H

#include "sched/event.h"

#define IPC_EVENT_MAGIC 0x32746e6576656973u

/* What another process needs to open the event. Fits into a cudaIpcEventHandle_t. */
struct ipc_event_address {
    uint64_t magic, id, process;
    int32_t fd, unused;
};

/* Returns a new event, or NULL, after a message, if there is no file for it. */
struct remote_event *ipc_event_new(void);
/* Opens another process's event. Returns NULL if the event no longer exists. */
struct remote_event *ipc_event_open(const struct ipc_event_address *address);
/* Returns whether another process made the event. */
bool ipc_event_is_opened(const struct remote_event *remote);
struct ipc_event_address ipc_event_address_of(const struct remote_event *remote);

#endif
