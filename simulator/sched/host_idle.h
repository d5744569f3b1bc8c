/* The host is away: it sleeps, waits for something that is no call of ours, or computes for long. A
 * device does not stop because nobody asks. */
#ifndef SIM_SCHED_HOST_IDLE_H
#define SIM_SCHED_HOST_IDLE_H

#include "base/types.h"

/* Called before the lock is taken: to wait for the lock is not to be away. */
void host_idle_call_arrives(void);
/* Called with the lock held at the start and at the end of each call of the program. */
void host_idle_call_begins(void);
void host_idle_call_ends(void);

/* With the lock held, also at the end of the program: what goes on beside the calling thread goes
 * on as far as it can, the watch's work and host functions. */
void host_idle_finish_others(void);

#endif
