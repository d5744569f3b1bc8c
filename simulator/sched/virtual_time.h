/* Virtual time. The host's clock moves only when the program makes a call (by what that call costs)
 * and when it waits for the device (to the end of what it waits for). So a run does not depend on
 * how fast this machine is. All of this needs the lock. */
#ifndef SIM_SCHED_VIRTUAL_TIME_H
#define SIM_SCHED_VIRTUAL_TIME_H

#include "base/types.h"

/* The host's present. Everyone may read it; only the two functions below move it, and only
 * forward. */
extern time_ns virtual_now;

/* The host has worked for this long. */
static inline void time_charge(time_ns cost) { virtual_now += cost; }
/* The host has waited until `when`. Does nothing when that has passed. */
static inline void time_wait_until(time_ns when) { virtual_now = time_max(virtual_now, when); }
/* Returns how long an op takes under the schedule that SIM_SCHEDULE asks for, given what it takes
 * on the measured device. */
time_ns time_under_schedule(time_ns measured);

#endif
