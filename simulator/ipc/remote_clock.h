/* Order across processes: each lane of another process has a lane here, too, so that a vector clock (sched/vector_clock.h) can speak of its work. */
#ifndef SIM_IPC_REMOTE_CLOCK_H
#define SIM_IPC_REMOTE_CLOCK_H

#include "sched/vector_clock.h"

/* Up to which number the work of one lane of one process comes before; the form in which processes tell each other. */
struct reached { uint64_t process, number; uint32_t lane, unused; };

/* The lane here for another process's; its own, for one of this process. */
uint32_t abroad_lane(uint64_t process, uint32_t lane);
/* Writes what an order says, at most `room` entries of it; returns how many there would be. */
uint32_t abroad_tell(const struct order *o, struct reached *list, uint32_t room);
/* Adds what was told to an order. */
void abroad_hear(struct order *o, const struct reached *list, uint32_t count);

#endif
