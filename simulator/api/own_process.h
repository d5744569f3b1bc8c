/* The process as a whole: its first call, its end, and a fork. */
#ifndef SIM_API_OWN_PROCESS_H
#define SIM_API_OWN_PROCESS_H

#include "base/types.h"

/* Any room may read it; only own_process.c writes it. */
extern struct process {
    /* The first call has been made. Needs the lock. */
    bool started;
    /* This process was forked after the first call, so no CUDA call works. It changes only in the
     * child, while that has one thread. */
    bool forked;
    /* A call that is no free has failed in the forked child. Needs the lock. */
    bool call_failed_in_child;
    /* The program has called exit or returned from main, and the handlers that it registered after
     * the first call have run, so that hardly any call works (call_enter). Only the thread that
     * ends the process sets this. */
    bool unloading;
    /* A free was rejected because the process was unloading. Needs the lock. */
    bool freed_too_late;
} process;

/* Reads the settings and opens the journal, at the first call. Needs the lock. */
void process_start(void);

#endif
