/* Vector clocks across processes: each slot of another process has a slot here, too, so that a
 * vector clock (sched/vector_clock.h) can hold epochs of its work.
 *
 * All of these need the lock. The clocks stay the caller's. */
#ifndef SIM_IPC_REMOTE_CLOCK_H
#define SIM_IPC_REMOTE_CLOCK_H

#include "sched/vector_clock.h"

/* One epoch, in the form in which processes send each other their vector clocks: all work of this
 * slot of this process up to `epoch`. */
struct remote_epoch {
    uint64_t process, epoch;
    uint32_t slot, unused;
};

/* Returns the slot here for another process's; for one of this process, that slot itself. */
uint32_t remote_clock_slot(uint64_t process, uint32_t slot);
/* Writes the epochs of a vector clock, at most `capacity` of them; returns how many there would
 * be. */
uint32_t remote_clock_export(const struct vector_clock *vc, struct remote_epoch *epochs,
                             uint32_t capacity);
/* Joins the epochs that another process sent into a vector clock. */
void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs,
                         uint32_t count);

#endif
