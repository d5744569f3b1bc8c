/* The host is idle: it sleeps, waits for something that is no call of ours, or computes for long. A
 * device does not stop because nobody calls. */
#ifndef SIM_SCHED_HOST_IDLE_H
#define SIM_SCHED_HOST_IDLE_H

#include "base/types.h"

/* Did the calling thread's last call end with work in a stream? Only then is it worth to find out
 * whether the thread was idle since. Written by host_idle.c in the same thread. */
extern _Thread_local bool host_idle_left_busy;

/* A thread of the program makes a call. Called where host_idle_left_busy is set, before the lock is
 * taken: to wait for the lock is not to be idle. */
void host_idle_call_arrives(void);
/* The same thread has the lock now. */
void host_idle_call_begins_unlocking(void);
/* The call ends. Needs the lock. */
void host_idle_call_ends(void);

/* What goes on beside the calling thread goes on as far as it can: the watchdog's work and host
 * functions. Called also at the end of the program. Needs the lock. */
void host_idle_finish_others_unlocking(void);

#endif
