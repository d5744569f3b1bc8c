/* Host functions (cudaLaunchHostFunc): each runs on an idle thread of the simulated device. All
 * functions here need the lock. */
#ifndef SIM_SCHED_HOST_FUNCTION_H
#define SIM_SCHED_HOST_FUNCTION_H

#include "sched/stream.h"

/* Whether the calling thread runs host functions, which must not call the API (documented:
 * cudaLaunchHostFunc). Constant for each thread. */
extern _Thread_local bool in_host_function;

/* Written by host_function.c. Any room may read it. */
extern struct host_functions {
    /* The number of our threads for host functions. Most programs need none. */
    unsigned threads;
    /* The program has queued a host function, so the host may wait for it outside of any call. */
    bool queued;
    /* The number of threads that wait for a host function that may return at any moment. */
    unsigned waiters;
    /* The host seems to wait for the next function. Set where the engine runs without such a
     * wait. */
    bool awaited;
} host_functions;

/* Starts the function of an OP_HOST. Returns when the function has returned or, with
 * op->was_blocked set, when it waits for the host. */
void host_function_run_unlocking(struct op *op);
/* Continues host functions that waited for the host and no longer need to, until they return or
 * wait again. So the host's calls decide when the functions continue, and not the speed of
 * threads. */
void host_functions_resume_unlocking(void);

#endif
