/* Virtual time. The host's clock moves only when the program makes a call (by what that call costs)
 * and when it waits for the device (to the end of what it waits for). So a run does not depend on
 * how fast this machine is. */
#ifndef SIM_SCHED_VIRTUAL_TIME_H
#define SIM_SCHED_VIRTUAL_TIME_H

#include "base/types.h"

/* The host's present. */
time_ns time_now(void);
/* The host has worked for this long. */
void time_charge(time_ns cost);
/* The host has waited until `when`; nothing happens when that has passed. */
void time_wait_until(time_ns when);
/* How long a piece of work takes under the pace that SIM_SCHEDULE asks for, given what it takes on the
 * measured device. */
time_ns time_under_schedule(time_ns measured);

#endif
