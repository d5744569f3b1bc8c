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
} process;

/* Reads the settings and opens the journal. Called at the first call. Needs the lock. */
void process_start(void);

#endif
