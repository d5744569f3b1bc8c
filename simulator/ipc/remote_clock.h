/* Vector clocks across processes. Each slot of another process has a slot here, so that a vector
 * clock (sched/vector_clock.h) can contain epochs of its work. When this host acquires work, it
 * raises the clocks of the processes that own the work (ipc/process_clock.h).
 *
 * The clocks belong to the caller. All functions here need the lock. */
#ifndef SIM_IPC_REMOTE_CLOCK_H
#define SIM_IPC_REMOTE_CLOCK_H

#include "ipc/process_clock.h"
#include "sched/vector_clock.h"

/* An epoch as processes send it: all work of this slot of this process up to `epoch`. */
struct remote_epoch {
    struct clock_name of;
    uint64_t epoch;
    uint32_t slot;
};

/* Epochs that are not over, because others need not be sent. */
struct remote_epochs {
    const struct remote_epoch *list;
    uint32_t count;
};

/* Called before this process shares anything. Returns false, after a message, on failure. */
bool remote_clock_start(void);
/* Returns the epoch up to which a vector clock includes the work of a slot of any process. */
uint64_t remote_clock_epoch(const struct vector_clock *vc, struct process_clock *clock,
                            uint32_t slot);
/* Returns what a vector clock includes and no host has acquired. Valid until the next call. */
struct remote_epochs remote_clock_export(const struct vector_clock *vc);
/* Joins the epochs that another process sent into a vector clock. */
void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs,
                         uint32_t count);

#endif
