/* Order across processes: each lane of another process has a lane here, too, so that a vector clock
 * (sched/vector_clock.h) can speak of its work. */
#ifndef SIM_IPC_REMOTE_CLOCK_H
#define SIM_IPC_REMOTE_CLOCK_H

#include "sched/vector_clock.h"

/* Up to which number the work of one lane of one process comes before; the form in which processes
 * tell each other. */
struct remote_epoch {
    uint64_t process, epoch;
    uint32_t slot, unused;
};

/* The lane here for another process's; its own, for one of this process. */
uint32_t remote_clock_slot(uint64_t process, uint32_t slot);
/* Writes what an order says, at most `room` entries of it; returns how many there would be. */
uint32_t remote_clock_export(const struct vector_clock *vc, struct remote_epoch *epochs,
                             uint32_t capacity);
/* Adds what was told to an order. */
void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs,
                         uint32_t count);

#endif
