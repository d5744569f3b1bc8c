/* Virtual time. The host's clock moves only when the program makes a call (by what that call costs)
 * and when it waits for the device (to the end of what it waits for). So a run does not depend on
 * how fast this machine is. All of this needs the lock. */
#ifndef SIM_SCHED_VIRTUAL_TIME_H
#define SIM_SCHED_VIRTUAL_TIME_H

#include "base/types.h"

/* The host's present. Law: it only grows. Who finds that the host has worked adds what that costs
 * (sched/cost.h); only the engine, which finds that the host has waited, sets it. */
extern time_ns virtual_now;

/* Returns how long the device works on this many bytes: a fixed part, and one for each GiB. */
time_ns command_duration(time_ns fixed, time_ns each_gib, size_t bytes);
/* Returns a number below `n` > 0, from SIM_SCHEDULE's seed. */
unsigned random_below(unsigned n);
/* Returns how long an op takes under the schedule that SIM_SCHEDULE asks for, given what it takes
 * on the recorded device. */
time_ns time_under_schedule(time_ns measured);

#endif
