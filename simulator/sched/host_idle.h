/* Lets work continue while the host is idle, because a device does not stop when no calls are made.
 * The host is idle while it sleeps, waits outside of our calls, or computes for long. */
#ifndef SIM_SCHED_HOST_IDLE_H
#define SIM_SCHED_HOST_IDLE_H

#include "base/types.h"

/* Whether the calling thread's last call ended with work in a stream. Only then does it matter
 * whether the thread has been idle since. Written by host_idle.c in the same thread. */
extern _Thread_local bool host_idle_left_busy;

/* Called at the start of a call if host_idle_left_busy is set, before the lock is taken, because
 * waiting for the lock is not idleness. */
void host_idle_call_arrives(void);
/* Called at the start of a call by the thread that makes it, with the lock. */
void host_idle_call_begins_unlocking(void);
/* Called at the end of a call. Needs the lock. */
void host_idle_call_ends(void);

/* Lets the watchdog's work, and host functions on other threads, continue as far as they can. Also
 * called at the end of the program. Needs the lock. */
void host_idle_finish_others_unlocking(void);
/* Called when a call begins to wait for work. Lets the program's other threads continue first,
 * because what they do now does not come after the wait, even if it seldom happens before it. Needs
 * the lock. */
void host_idle_let_others_go_first_unlocking(void);

#endif
