/* The process as a whole: its first call, its end, a fork. */
#ifndef SIM_API_OWN_PROCESS_H
#define SIM_API_OWN_PROCESS_H

#include "base/types.h"

/* Everyone may read it; own_process.c writes it. */
extern struct process {
    /* The first call has been made. Needs the lock. */
    bool started;
    /* This is a child that was forked after the first call: no call of CUDA works here. It changes
     * in the child alone, while that has one thread. */
    bool forked;
    /* The program has called exit, or main has returned, and what it registered for that after the
     * first call is done: hardly a call works any more (call_enter). Only the thread that ends the
     * process sets it. */
    bool unloading;
    /* A free was refused for that. Needs the lock. */
    bool freed_too_late;
} process;

/* Reads the settings and opens the journal. Called at the first call. Needs the lock. */
void process_start(void);

#endif
