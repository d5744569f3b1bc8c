/* Virtual time. The host's clock advances only when the program makes a call (by the call's cost)
 * and when it waits for the device (to the end of the wait). So a run does not depend on the speed
 * of this machine. Everything here needs the lock. */
#ifndef SIM_SCHED_VIRTUAL_TIME_H
#define SIM_SCHED_VIRTUAL_TIME_H

#include "base/types.h"

/* The host's present, which only grows. Code that does work for the host adds its cost
 * (sched/cost.h). Only the engine, when the host has waited, sets it. */
extern time_ns virtual_now;

/* Returns the device's time for this many bytes: a fixed part, and a part for each GiB. */
time_ns command_duration(time_ns fixed, time_ns each_gib, size_t bytes);
/* Returns a random number below `n` > 0, from SIM_SCHEDULE's seed. */
unsigned random_below(unsigned n);
/* Returns the duration of an op under the chosen SIM_SCHEDULE, from that on the recorded device. */
time_ns time_under_schedule(time_ns measured);

#endif
