/* Vector clocks across processes: each slot of another process has a slot here, too, so that a
 * vector clock (sched/vector_clock.h) can hold epochs of its work. What this host acquires, it
 * raises in the clocks of the processes whose work that is (ipc/process_clock.h).
 *
 * All of these need the lock. The clocks stay the caller's. */
#ifndef SIM_IPC_REMOTE_CLOCK_H
#define SIM_IPC_REMOTE_CLOCK_H

#include "ipc/process_clock.h"
#include "sched/vector_clock.h"

/* One epoch, in the form in which processes send each other their vector clocks: all work of this
 * slot of this process up to `epoch`. */
struct remote_epoch {
    struct clock_name of;
    uint64_t epoch;
    uint32_t slot;
};

/* Epochs that are not over: others need not be sent. */
struct remote_epochs {
    const struct remote_epoch *list;
    uint32_t count;
};

/* This process shares something from now on. Returns false, with a sentence, when it cannot. */
bool remote_clock_start(void);
/* Returns up to where a vector clock includes the work of another process's slot, or of a slot of
 * this one. */
uint64_t remote_clock_epoch(const struct vector_clock *vc, struct process_clock *clock,
                            uint32_t slot);
/* Returns what a vector clock includes of what no host has acquired, which is good until the next
 * call. */
struct remote_epochs remote_clock_export(const struct vector_clock *vc);
/* Joins the epochs that another process sent into a vector clock. */
void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs,
                         uint32_t count);

#endif
