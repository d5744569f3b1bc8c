/* Host functions (cudaLaunchHostFunc): each runs on a thread of ours, taken from those that have
 * nothing to do. These need the lock, but for in_host_function. */
#ifndef SIM_SCHED_HOST_FUNCTION_H
#define SIM_SCHED_HOST_FUNCTION_H

#include "sched/stream.h"

/* Is the calling thread one that runs host functions? It may not call the API (documented:
 * cudaLaunchHostFunc). It is true or false as long as the thread lives. */
extern _Thread_local bool in_host_function;

/* Everyone may read it; host_function.c writes it. */
extern struct host_functions {
    /* How many threads of ours there are for host functions: most programs have none. */
    unsigned threads;
    /* The program has queued one: the host may wait for it outside of any call. */
    bool queued;
    /* How many threads wait for a host function that may return at any moment. */
    unsigned waiters;
    /* The host seems to wait for what the next function does. Who lets the engine run without a
     * wait sets it. */
    bool awaited;
} host_functions;

/* Starts the function of an OP_HOST. Returns when it has returned, or when it waits for the host;
 * then op->was_blocked is set. */
void host_function_run_unlocking(struct op *op);
/* Host functions that waited for the host, and need not any more, go on until they return or wait
 * again: so it is the host's calls that decide when, and not how fast their threads are. */
void host_functions_resume_unlocking(void);

#endif
